import { describe, expect, it } from '@jest/globals'
import { ConcurrencyLimit, VirtualTime } from '../../src/runtime/index.ts'

/** A server: how many calls it serves in parallel, each for how long; others wait. */
interface Server {
  readonly parallel: number
  readonly serviceMs: number
  /** Time on the network, which no call has to wait for. */
  readonly distanceMs: number
}

/** Keeps as many calls in flight as the limit permits. @returns the calls per second of the last half. */
async function load(limit: ConcurrencyLimit, time: VirtualTime, server: Server, ms: number): Promise<number> {
  const free = Array.from({ length: server.parallel }, () => time.monotonicMs())
  const endMs = time.monotonicMs() + ms
  let served = 0
  const send = async (): Promise<void> => {
    const flight = limit.begin()
    free.sort((a, b) => a - b)
    const doneMs = Math.max(free[0] ?? 0, time.monotonicMs()) + server.serviceMs
    free[0] = doneMs
    await time.sleep(doneMs + server.distanceMs - time.monotonicMs())
    limit.end(flight, 'ok')
    if (endMs - time.monotonicMs() < ms / 2) served += 1
    fill()
  }
  const fill = (): void => {
    while (limit.hasRoom() && time.monotonicMs() < endMs) void send()
  }
  fill()
  await time.advance(ms + 10_000)
  return served / (ms / 2_000)
}

const limitOf = (time: VirtualTime): ConcurrencyLimit =>
  new ConcurrencyLimit(time, { initial: 4, most: 128, reserve: 2 })

describe('the concurrency limit', () => {
  it('fills a distant server', async () => {
    const time = new VirtualTime()
    const limit = limitOf(time)
    const server = { parallel: 20, serviceMs: 10, distanceMs: 40 } // 2,000 a second, with 100 in flight.
    expect(await load(limit, time, server, 10_000)).toBeGreaterThan(1_800)
    expect(limit.limit).toBeLessThanOrEqual(128)
  })

  it('lets only few calls wait at a server that takes two at the same time, and keeps it busy', async () => {
    const time = new VirtualTime()
    const limit = limitOf(time)
    expect(await load(limit, time, { parallel: 2, serviceMs: 5, distanceMs: 0 }, 10_000)).toBeGreaterThan(390)
    expect(limit.limit).toBeLessThan(14)
  })

  it('adapts to a server that becomes slower, and to one that recovers', async () => {
    const time = new VirtualTime()
    const limit = limitOf(time)
    await load(limit, time, { parallel: 40, serviceMs: 20, distanceMs: 0 }, 10_000)
    const before = limit.limit
    await load(limit, time, { parallel: 4, serviceMs: 20, distanceMs: 0 }, 10_000)
    const during = limit.limit
    const rate = await load(limit, time, { parallel: 40, serviceMs: 20, distanceMs: 0 }, 10_000)
    expect(during).toBeLessThan(before / 2)
    expect(rate).toBeGreaterThan(1_600) // Of 2,000.
  })

  it('does not grow while fewer calls are in flight than it permits', async () => {
    const time = new VirtualTime()
    const limit = limitOf(time)
    for (let call = 0; call < 100; call += 1) {
      const flight = limit.begin()
      await time.advance(1)
      limit.end(flight, 'ok')
    }
    expect(limit.limit).toBe(4)
  })

  it('halves once for all calls that were in flight at a refusal, down to one, and grows again', async () => {
    const time = new VirtualTime()
    const limit = new ConcurrencyLimit(time, { initial: 16, most: 16, reserve: 0 })
    const flights = Array.from({ length: 16 }, () => limit.begin())
    await time.advance(1)
    for (const flight of flights) limit.end(flight, 'refused')
    expect(limit.limit).toBe(8)
    for (let more = 0; more < 5; more += 1) {
      const flight = limit.begin()
      await time.advance(1)
      limit.end(flight, 'refused')
    }
    expect(limit.limit).toBe(1)
    await load(limit, time, { parallel: 40, serviceMs: 10, distanceMs: 0 }, 1_000)
    expect(limit.limit).toBe(16)
  })

  it('ignores calls that are not measured', async () => {
    const time = new VirtualTime()
    const limit = limitOf(time)
    for (let call = 0; call < 100; call += 1)
      for (const flight of [1, 2, 3, 4].map(() => limit.begin())) limit.end(flight, 'unmeasured')
    expect([limit.limit, limit.hasRoom()]).toEqual([4, true])
  })

  it('keeps a reserve for urgent calls', () => {
    const limit = limitOf(new VirtualTime())
    for (let call = 0; call < 4; call += 1) limit.begin()
    expect([limit.hasRoom(), limit.hasRoom(true)]).toEqual([false, true])
    for (let call = 0; call < 2; call += 1) limit.begin()
    expect(limit.hasRoom(true)).toBe(false)
  })
})
