import { describe, expect, it } from '@jest/globals'
import { payloadText } from '../../../src/dashboard/tasks/task-text.ts'

describe('a task in a row', () => {
  it('shows a short preview of its payload and does not split a character', () => {
    expect(payloadText({ a: 1 })).toBe('{"a":1}')
    const text = payloadText({ a: 'x'.repeat(1_000_000), b: Array.from({ length: 1_000 }, () => 'y'.repeat(10_000)) })
    expect(text.length).toBeLessThanOrEqual(201)
    expect(payloadText({ a: `${'x'.repeat(193)}😀😀` })).toMatch(/x…$|😀…$/u)
  })
})
