/** Dates and times of a field, in UTC. */
import { expect, it } from '@jest/globals'
import { inputOfSeconds, secondsOfInput } from '../../../src/dashboard/components/moment-value.ts'

it('reads what the field writes, to the minute, and null for what is incomplete', () => {
  const seconds = Date.parse('2026-11-30T02:15:00Z') / 1_000
  for (const isUtc of [true, false]) {
    expect(secondsOfInput(inputOfSeconds(seconds + 59, isUtc), isUtc)).toBe(seconds)
    for (const value of ['', '2026-11-30', '2026-11-30T', 'tomorrow']) expect(secondsOfInput(value, isUtc)).toBeNull()
  }
  expect(inputOfSeconds(seconds, true)).toBe('2026-11-30T02:15')
})
