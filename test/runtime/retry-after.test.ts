import { describe, expect, it } from '@jest/globals'
import {
  cappedRetryAfterMs,
  MAX_RETRY_AFTER_MS,
  parseRetryAfter,
  retryAfterDelayMs,
  seededRandom,
} from '../../src/runtime/index.ts'

describe('Retry-After', () => {
  it('is read as seconds or as an HTTP date; anything else is ignored', () => {
    const headers = [
      '5',
      '0',
      ' 7 ',
      '3600',
      'soon',
      undefined,
      null,
      '-4',
      '1.5',
      ['9', '1'],
      'Thu, 01 Jan 1970 00:00:30 GMT',
      'Thu, 01 Jan 1970 00:00:01 GMT',
    ]
    const expected = [
      5_000,
      0,
      7_000,
      3_600_000,
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
      9_000,
      20_000,
      0,
    ]
    expect(headers.map((header) => parseRetryAfter(header, 10_000))).toEqual(expected)
  })

  it('delays for at least the requested time and at most a quarter longer, capped between 24 and 30 s', () => {
    const random = seededRandom(1)
    for (const requestedMs of [0, 1_000, 20_000, 24_000]) {
      const delays = Array.from({ length: 50 }, () => retryAfterDelayMs(requestedMs, random))
      expect(Math.min(...delays)).toBeGreaterThanOrEqual(requestedMs)
      expect(Math.max(...delays)).toBeLessThanOrEqual(Math.min(requestedMs * 1.25, MAX_RETRY_AFTER_MS))
    }
    const capped = Array.from({ length: 50 }, () => retryAfterDelayMs(3_600_000, random))
    expect(Math.min(...capped)).toBeGreaterThanOrEqual(24_000)
    expect(Math.max(...capped)).toBeLessThanOrEqual(MAX_RETRY_AFTER_MS)
    expect(new Set(capped).size).toBeGreaterThan(40)
    expect([cappedRetryAfterMs(3_600_000), cappedRetryAfterMs(-1), cappedRetryAfterMs(7)]).toEqual([30_000, 0, 7])
  })
})
