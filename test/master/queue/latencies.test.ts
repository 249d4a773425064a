import { describe, expect, it } from '@jest/globals'
import { bucketOf, Latencies, middleMs } from '../../../src/master/queue/latencies.ts'
import type { Lease } from '../../../src/storage/index.ts'
import { VirtualTime } from '../../../src/runtime/index.ts'

const lease = (token: number, body: string, attempt = 0): Lease => ({
  id: `t${token}`,
  token,
  attempt,
  maxAttempts: 3,
  expiresAtMs: 0,
  body,
})

describe('buckets of latencies', () => {
  it('have ten to a decade, from below 1 ms', () => {
    const cases: readonly (readonly [number, number])[] = [
      [-5, 0],
      [0, 0],
      [0.99, 0],
      [1, 1],
      [1.25, 1],
      [1.26, 2],
      [9.99, 10],
      [10, 11],
      [1_000, 31],
      [86_400_000, 80],
      [1e15, 99],
    ]
    for (const [ms, bucket] of cases) expect([ms, bucketOf(ms)]).toEqual([ms, bucket])
  })

  it('have a middle that is at most 12.2 % off each time (D167)', () => {
    for (let ms = 1; ms < 86_400_000; ms *= 1.013)
      expect(Math.abs(middleMs(bucketOf(ms)) / ms - 1)).toBeLessThan(0.1221)
  })
})

describe('latencies', () => {
  const time = new VirtualTime()
  const secondsAgo = (seconds: number): number => time.wallMs() / 1_000 - seconds

  it('count the wait of a first lease from the time when the task was due', () => {
    const latencies = new Latencies(time)
    latencies.leased([
      lease(1, `{"payload":{"priority":7},"priority":0,"submitted_at":${secondsAgo(2)}}`),
      lease(2, `{"payload":{},"priority":-1,"not_before":${secondsAgo(0.05)},"submitted_at":${secondsAgo(100)}}`),
      lease(3, `{"payload":{},"priority":0,"submitted_at":${secondsAgo(2)}}`, 1),
      lease(4, `{"payload":"\\"priority\\":0,\\"submitted_at\\":1}","priority":0,"submitted_at":${secondsAgo(-9)}}`),
      lease(5, '{}'),
    ])
    expect(latencies.take()).toEqual({ [`w${bucketOf(2_000)}`]: 1, [`w${bucketOf(50)}`]: 1, w0: 1 })
    expect(latencies.take()).toEqual({})
  })

  it('count a run from its lease to its end, once, and not that of a released or unknown lease', async () => {
    const latencies = new Latencies(time)
    const leases = [1, 2, 3].map((token) => lease(token, '{}'))
    latencies.leased(leases)
    await time.advance(3_000)
    latencies.ended([leases[0] as Lease, { id: 'x', token: 99 }])
    latencies.dropped([leases[1] as Lease])
    await time.advance(1_000)
    latencies.ended(leases)
    const counts = { [`r${bucketOf(3_000)}`]: 1, [`r${bucketOf(4_000)}`]: 1 }
    expect(latencies.take()).toEqual(counts)
    latencies.putBack(counts)
    latencies.putBack(counts)
    expect(Object.values(latencies.take())).toEqual([2, 2])
  })
})
