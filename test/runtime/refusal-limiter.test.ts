import { beforeEach, describe, expect, it } from '@jest/globals'
import { isRefusalStatus, RefusalLimiter, seededRandom, VirtualTime } from '../../src/runtime/index.ts'

let time: VirtualTime
let limiter: RefusalLimiter

beforeEach(() => {
  time = new VirtualTime()
  limiter = new RefusalLimiter({ clock: time, timers: time, random: seededRandom(1) })
})

/**
 * Sends requests in a loop from `callers` callers, with responses after `latencyMs`. @returns when each request was
 * sent.
 */
async function hammer(
  ms: number,
  { callers = 8, latencyMs = 5, isServed = (): boolean => false, retryAfterMs = 0 } = {},
): Promise<readonly number[]> {
  const left: number[] = []
  const end = new AbortController()
  const call = async (): Promise<void> => {
    for (;;) {
      await limiter.turn(end.signal)
      left.push(time.monotonicMs())
      await time.sleep(latencyMs, end.signal)
      if (isServed()) limiter.served()
      else limiter.refused(retryAfterMs)
    }
  }
  const calls = Promise.allSettled(Array.from({ length: callers }, call))
  await time.advance(ms)
  end.abort(new Error('over'))
  await calls
  return left
}

const most = (left: readonly number[]): number =>
  Math.max(...left.map((from) => left.filter((at) => at >= from && at < from + 1_000).length))

describe('the refusal limiter', () => {
  it('sends fewer than three requests per second while all are rejected, with any number of callers', async () => {
    const left = await hammer(75_000)
    const later = left.filter((at) => at >= 100)
    expect(left.filter((at) => at < 100).length).toBeLessThanOrEqual(8 + 2) // The first two rejections change nothing.
    expect(most(later)).toBeLessThanOrEqual(3)
    expect(later.length).toBeGreaterThan(30) // It continues to retry.
    expect(later.length).toBeLessThan(60)
    const gaps = later.slice(1).map((at, index) => at - (later[index] ?? 0))
    expect(new Set(gaps).size).toBeGreaterThan(gaps.length / 2) // With jitter.
  })

  it('sends nothing before the time that Retry-After requests, and waits at most 30 s', async () => {
    const left = await hammer(61_000, { callers: 4, retryAfterMs: 3_600_000 })
    expect(left.filter((at) => at > 0).length).toBeGreaterThanOrEqual(2)
    const later = left.filter((at) => at > 10)
    expect(later[0]).toBeGreaterThan(20_000)
    expect(later[0]).toBeLessThanOrEqual(30_010)
  })

  it('lifts the limit as soon as one request succeeds', async () => {
    await hammer(20_000)
    expect(limiter.isLimited).toBe(true)
    const { signal } = new AbortController()
    const leftMs: number[] = []
    const waiting = Array.from({ length: 50 }, async () => {
      await limiter.turn(signal)
      leftMs.push(time.monotonicMs())
      limiter.served()
    })
    await time.advance(2_001)
    await Promise.all(waiting)
    expect([new Set(leftMs).size, limiter.isLimited, time.pending]).toEqual([1, false, 0])
  })

  it('does not slow down while the peer rejects only some requests', async () => {
    let count = 0
    const left = await hammer(1_000, { callers: 1, isServed: () => (count += 1) % 3 === 0 })
    expect(left.length).toBeGreaterThan(150)
  })

  it('removes a caller from the queue when its signal aborts', async () => {
    await hammer(5_000)
    const end = new AbortController()
    const waiting = limiter.turn(end.signal)
    end.abort(new Error('over'))
    await expect(waiting).rejects.toThrow('over')
    await expect(limiter.turn(end.signal)).rejects.toThrow('over')
    expect(time.pending).toBe(0)
  })

  it('counts 429, 500, 502, 503 and 504, and no other status', () => {
    expect([200, 304, 400, 401, 403, 404, 412, 422, 429, 500, 501, 502, 503, 504].filter(isRefusalStatus)).toEqual([
      429, 500, 502, 503, 504,
    ])
  })
})
