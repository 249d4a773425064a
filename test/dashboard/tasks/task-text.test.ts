import { describe, expect, it } from '@jest/globals'
import { payloadText, tierOf } from '../../../src/dashboard/tasks/task-text.ts'

describe('a task in a row', () => {
  it('shows the tier of its priority', () => {
    expect([5, 1, 0, -1, -9].map(tierOf)).toEqual(['high', 'high', 'normal', 'low', 'low'])
  })

  it('shows a short preview of its payload and does not split a character', () => {
    expect(payloadText({ a: 1 })).toBe('{"a":1}')
    const text = payloadText({ a: 'x'.repeat(1_000_000), b: Array.from({ length: 1_000 }, () => 'y'.repeat(10_000)) })
    expect(text.length).toBeLessThanOrEqual(201)
    expect(payloadText({ a: `${'x'.repeat(193)}😀😀` })).toMatch(/x…$|😀…$/u)
  })
})
