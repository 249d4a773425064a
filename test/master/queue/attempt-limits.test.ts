/** Tests the cache of attempt limits alone: what it reads, what it keeps, and what it does for a missing worker. */
import { describe, expect, it } from '@jest/globals'
import { AttemptLimits } from '../../../src/master/queue/attempt-limits.ts'
import type { ConfigRow } from '../../../src/storage/index.ts'

const row = (gen: number, config: object): ConfigRow => ({
  gen,
  config: JSON.stringify(config),
  changedAtMs: null,
  actor: null,
})

/** Limits with the fallback 7 over these configs, and the names of each read. */
function limitsOf(rows: Record<string, ConfigRow>) {
  const reads: (readonly string[])[] = []
  const limits = new AttemptLimits(7, (workers) => {
    reads.push(workers)
    return Promise.resolve(workers.map((worker) => rows[worker] ?? null))
  })
  return { reads, limits, of: async (...workers: string[]) => [...(await limits.of(new Set(workers)))] }
}

describe('AttemptLimits', () => {
  it('returns each limit with the generation of its config, or the fallback, and no unknown worker', async () => {
    const { of } = limitsOf({ a: row(4, { max_attempts: 2 }), b: row(0, {}) })
    expect(await of('a', 'unknown', 'b')).toEqual([
      ['a', { gen: 4, maxAttempts: 2 }],
      ['b', { gen: 0, maxAttempts: 7 }],
    ])
  })

  it('reads each config one time, and an unknown worker again', async () => {
    const { reads, of } = limitsOf({ a: row(1, { max_attempts: 2 }), b: row(1, { max_attempts: 3 }) })
    await of('a', 'unknown')
    await of('a')
    expect(await of('b', 'a', 'unknown')).toEqual([
      ['a', { gen: 1, maxAttempts: 2 }],
      ['b', { gen: 1, maxAttempts: 3 }],
    ])
    expect(reads).toEqual([
      ['a', 'unknown'],
      ['b', 'unknown'],
    ])
  })

  it('reads a config again once its worker was forgotten', async () => {
    const rows = { a: row(1, { max_attempts: 2 }), b: row(1, { max_attempts: 2 }) }
    const { reads, limits, of } = limitsOf(rows)
    await of('a', 'b')
    rows.a = row(2, { max_attempts: 9 })
    limits.forget('a')
    expect(await of('a', 'b')).toContainEqual(['a', { gen: 2, maxAttempts: 9 }])
    expect(reads).toEqual([['a', 'b'], ['a']])
  })
})
