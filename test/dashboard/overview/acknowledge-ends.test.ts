import { describe, expect, it } from '@jest/globals'
import { tomorrowSeconds } from '../../../src/dashboard/overview/acknowledge-ends.ts'

const seconds = (text: string): number => Date.parse(text) / 1_000

describe('an acknowledgement until tomorrow', () => {
  it('ends at 09:00 of the next day in the time zone of the page', () => {
    for (const now of ['2026-11-30T00:00:00Z', '2026-11-30T08:59:00Z', '2026-11-30T23:59:59Z'])
      expect(tomorrowSeconds(seconds(now), true)).toBe(seconds('2026-12-01T09:00:00Z'))
    const local = new Date(tomorrowSeconds(seconds('2026-11-30T12:00:00Z'), false) * 1_000)
    expect([local.getHours(), local.getMinutes()]).toEqual([9, 0])
  })
})
