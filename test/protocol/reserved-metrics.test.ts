import { describe, expect, it } from '@jest/globals'
import { RUN_MS_BUCKETS, runMsBucket } from '../../src/protocol/index.ts'

describe('the buckets of durations (D137)', () => {
  it('contain the runs of at most 2^(i/4) ms that fit into no bucket before', () => {
    for (let i = 0; i < RUN_MS_BUCKETS; i += 1) {
      const bound = 2 ** (i / 4)
      expect([i, runMsBucket(bound * 0.999)]).toEqual([i, Math.max(0, i)])
      expect([i, runMsBucket(bound * 1.001)]).toEqual([i, Math.min(i + 1, RUN_MS_BUCKETS - 1)])
    }
    for (let power = 0; power <= 21; power += 1) expect(runMsBucket(2 ** power)).toBe(4 * power)
  })

  it('contain every duration', () => {
    expect([0, 0.5, 1, 1_000, 1e12, Infinity].map(runMsBucket)).toEqual([0, 0, 0, 40, 87, 87])
  })
})
