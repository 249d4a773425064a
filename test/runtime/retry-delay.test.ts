import { describe, expect, it } from '@jest/globals'
import { retryDelayMs } from '../../src/runtime/index.ts'

const RETRY = { baseMs: 1_000, factor: 2, capMs: 60_000 }

describe('retryDelayMs', () => {
  it.each([
    { attempt: 0, jitter: 0.5, delayMs: 500 },
    { attempt: 1, jitter: 0.5, delayMs: 1_000 },
    { attempt: 3, jitter: 0.5, delayMs: 4_000 },
    { attempt: 5, jitter: 0.999, delayMs: 31_968 },
    { attempt: 6, jitter: 0.5, delayMs: 30_000 },
    { attempt: 999, jitter: 0.5, delayMs: 30_000 },
    { attempt: 5_000, jitter: 0.5, delayMs: 30_000 },
    { attempt: 4, jitter: 0, delayMs: 0 },
    { attempt: 0, jitter: 0.0019, delayMs: 1 },
  ])('is $delayMs ms after $attempt earlier failures with jitter $jitter (D25)', ({ attempt, jitter, delayMs }) => {
    expect(retryDelayMs(RETRY, attempt, jitter)).toBe(delayMs)
  })

  it('is 0 for a base of 0, even if the factor has grown to infinity', () => {
    expect(retryDelayMs({ ...RETRY, baseMs: 0 }, 5_000, 0.5)).toBe(0)
  })

  it('does not grow with a factor of 1', () => {
    expect(retryDelayMs({ ...RETRY, factor: 1 }, 100, 0.5)).toBe(500)
  })
})
