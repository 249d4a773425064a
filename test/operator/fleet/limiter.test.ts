import { describe, expect, it } from '@jest/globals'
import { Limiter, type Line } from '../../../src/operator/fleet/limiter.ts'
import { VirtualTime } from '../../../src/runtime/index.ts'

/** Sends as many calls as the limiter allows for `ms`. @returns the time of each call. */
async function leave(limiter: Limiter, time: VirtualTime, ms: number): Promise<readonly number[]> {
  const left: number[] = []
  const end = new AbortController()
  const work = async (): Promise<void> => {
    for (;;) {
      await limiter.turn(end.signal)
      left.push(time.monotonicMs())
    }
  }
  const working = Promise.allSettled([work(), work(), work(), work()])
  await time.advance(ms)
  end.abort()
  await working
  return left
}
const between = (left: readonly number[], from: number, to: number): number =>
  left.filter((at) => at >= from && at < to).length

describe('the limiter', () => {
  it('starts at 50 calls a second, evenly spaced, and adds 5 each second without a rejection, up to 400', async () => {
    const time = new VirtualTime()
    const limiter = new Limiter(time, time)
    const left = await leave(limiter, time, 3_000)
    expect(between(left, 0, 1_000)).toBeGreaterThanOrEqual(49)
    expect(between(left, 0, 1_000)).toBeLessThanOrEqual(56)
    expect(between(left, 2_000, 3_000)).toBeGreaterThanOrEqual(58)
    await time.advance(200_000)
    expect(limiter.perSecond).toBe(400)
    expect(between(await leave(limiter, time, 1_000), 203_000, 204_000)).toBeLessThanOrEqual(441)
  })

  it('halves its rate once for all open calls when the master rejects them, and pauses for Retry-After', async () => {
    const time = new VirtualTime()
    const limiter = new Limiter(time, time)
    await time.advance(10_000)
    expect(limiter.perSecond).toBe(100)
    for (let call = 0; call < 16; call += 1) limiter.refused(9_990, 2_000)
    expect(limiter.perSecond).toBe(50)
    const left = await leave(limiter, time, 3_000)
    expect([between(left, 10_000, 12_000), left[0]]).toEqual([0, 12_000])
    expect(between(left, 12_000, 12_100)).toBeLessThanOrEqual(6) // Waiting calls are not sent in a burst.
    limiter.refused(12_500, 0)
    expect(limiter.perSecond).toBeCloseTo(27.5)
  })

  it('lets urgent calls overtake background calls for up to a second', async () => {
    const time = new VirtualTime()
    const limiter = new Limiter(time, time)
    const { signal } = new AbortController()
    await leave(limiter, time, 200) // Further calls have to wait.
    const left: string[] = []
    const leaves = (name: string, line: Line): Promise<void> =>
      limiter.turn(signal, line).then(() => void left.push(name))
    const readings = [1, 2, 3].map((n) => leaves(`reading ${n}`, 'table'))
    const edits = [1, 2].map((n) => leaves(`edit ${n}`, 'reconcile'))
    await time.advance(200)
    await Promise.all([...readings, ...edits])
    expect(left).toEqual(['edit 1', 'edit 2', 'reading 1', 'reading 2', 'reading 3'])
  })

  it('sends an edit before bulk calls, but every eighth call is a bulk call however many edits arrive', async () => {
    const time = new VirtualTime()
    const limiter = new Limiter(time, time)
    const { signal } = new AbortController()
    const left: string[] = []
    const leaves = (line: Line): Promise<void> => limiter.turn(signal, line).then(() => void left.push(line))
    await leave(limiter, time, 200)
    const bulk = Array.from({ length: 16 }, () => leaves('reconcile'))
    await time.advance(1)
    const edit = leaves('edit').then(() => time.monotonicMs())
    await time.advance(100)
    expect([left[0], await edit]).toEqual(['edit', 220])
    const edits = Array.from({ length: 200 }, () => leaves('edit'))
    await time.advance(3_000)
    const late = left.slice(60)
    expect(late.length).toBeGreaterThan(90)
    expect(late.filter((line) => line === 'reconcile').length / late.length).toBeCloseTo(1 / 8, 1)
    await time.advance(3_000)
    await Promise.all([...bulk, ...edits])
  })

  it('limits how long a background call waits', async () => {
    const time = new VirtualTime()
    const limiter = new Limiter(time, time)
    const end = new AbortController()
    const busy = leave(limiter, time, 3_000)
    let leftMs = Infinity
    const yielding = limiter.turn(end.signal, 'table').then(() => (leftMs = time.monotonicMs()))
    await busy
    await yielding
    expect(leftMs).toBeGreaterThan(900)
    expect(leftMs).toBeLessThan(1_200)
  })

  it('never falls below one call a second, and lets a caller leave the queue', async () => {
    const time = new VirtualTime()
    const limiter = new Limiter(time, time)
    for (let at = 0; at < 20; at += 1) {
      limiter.refused(time.monotonicMs(), 0)
      await time.advance(1)
    }
    expect(limiter.perSecond).toBe(1)
    limiter.refused(time.monotonicMs(), 60_000)
    const end = new AbortController()
    const waiting = limiter.turn(end.signal)
    end.abort(new Error('over'))
    await expect(waiting).rejects.toThrow('over')
    await expect(limiter.turn(end.signal)).rejects.toThrow('over')
    expect(time.pending).toBe(0)
  })
})
