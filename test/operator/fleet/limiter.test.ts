import { describe, expect, it } from '@jest/globals'
import { Limiter, type Line } from '../../../src/operator/fleet/limiter.ts'
import { VirtualTime } from '../../../src/runtime/index.ts'

/** Sends a call that ends at the moment it is sent. */
const call = async (limiter: Limiter, signal: AbortSignal, line?: Line): Promise<void> =>
  limiter.ended(await limiter.turn(signal, line), 'ok')

/** Sends as many calls as the limiter allows for `ms`; each takes a millisecond. @returns the time of each call. */
async function leave(limiter: Limiter, time: VirtualTime, ms: number): Promise<readonly number[]> {
  const left: number[] = []
  const end = new AbortController()
  const work = async (): Promise<void> => {
    for (;;) {
      const flight = await limiter.turn(end.signal)
      left.push(time.monotonicMs())
      await time.sleep(1)
      limiter.ended(flight, 'ok')
    }
  }
  const working = Promise.allSettled([work(), work(), work(), work()])
  await time.advance(ms)
  end.abort()
  await time.advance(1)
  await working
  return left
}
const between = (left: readonly number[], from: number, to: number): number =>
  left.filter((at) => at >= from && at < to).length

/** A limiter whose master has refused a call in a second of 100, so that its rate is 50 a second. */
async function slowedDown(time: VirtualTime): Promise<Limiter> {
  const limiter = new Limiter(time, time)
  const { signal } = new AbortController()
  await time.advance(1_000)
  for (let sent = 0; sent < 100; sent += 1) await call(limiter, signal)
  limiter.refused(time.monotonicMs(), 0)
  return limiter
}

describe('the limiter', () => {
  it('does not limit the rate before the master refuses a call', async () => {
    const time = new VirtualTime()
    const limiter = new Limiter(time, time)
    expect(limiter.perSecond).toBe(Infinity)
    expect((await leave(limiter, time, 1_000)).length).toBeGreaterThan(3_900)
  })

  it('halves the rate of the last second, once for all calls in flight, and pauses for Retry-After', async () => {
    const time = new VirtualTime()
    const limiter = await slowedDown(time)
    expect(limiter.perSecond).toBeCloseTo(50, 0)
    for (let open = 0; open < 16; open += 1) limiter.refused(time.monotonicMs() - 10, 2_000)
    expect(limiter.perSecond).toBeCloseTo(50, 0)
    const left = await leave(limiter, time, 3_000)
    expect([between(left, 1_000, 3_000), left[0]]).toEqual([0, 3_000])
    expect(between(left, 3_000, 3_100)).toBeLessThanOrEqual(6) // Waiting calls are not sent in a burst.
    expect(between(left, 3_000, 4_000)).toBeLessThanOrEqual(51)
  })

  it('raises the rate by a tenth and 5 each second, and ends the limit after a minute without a refusal', async () => {
    const time = new VirtualTime()
    const limiter = await slowedDown(time)
    await time.advance(2_000)
    expect(limiter.perSecond).toBeCloseTo((50 * 1.1 + 5) * 1.1 + 5, 0)
    await time.advance(57_000)
    expect(limiter.perSecond).toBeLessThan(Infinity)
    await time.advance(1_000)
    expect(limiter.perSecond).toBe(Infinity)
  })

  it('has more calls in flight while that makes none slower, and fewer after a refusal', async () => {
    const time = new VirtualTime()
    const limiter = new Limiter(time, time)
    const end = new AbortController()
    let most = 0
    let open = 0
    const distant = async (): Promise<void> => {
      for (;;) {
        const flight = await limiter.turn(end.signal)
        most = Math.max(most, (open += 1))
        await time.sleep(100)
        open -= 1
        limiter.ended(flight, 'ok')
      }
    }
    const working = Promise.allSettled(Array.from({ length: 100 }, distant))
    await time.advance(99)
    expect(most).toBe(4)
    await time.advance(5_000)
    expect(most).toBe(48)
    limiter.ended(await limiter.turn(end.signal, 'edit'), 'refused')
    await time.advance(100)
    expect(open).toBe(24 + 5) // Half, and one step since.
    end.abort()
    await time.advance(100)
    await working
  })

  it('keeps room in flight for edits', async () => {
    const time = new VirtualTime()
    const limiter = new Limiter(time, time)
    const { signal } = new AbortController()
    for (let bulk = 0; bulk < 4; bulk += 1) await limiter.turn(signal)
    let left = ''
    void limiter.turn(signal, 'reconcile').then(() => (left += 'bulk'))
    await limiter.turn(signal, 'edit').then(() => (left += 'edit'))
    await time.advance(1_000)
    expect(left).toBe('edit')
  })

  it('lets urgent calls overtake background calls for up to a second', async () => {
    const time = new VirtualTime()
    const limiter = await slowedDown(time)
    await leave(limiter, time, 200) // Further calls have to wait.
    const { signal } = new AbortController()
    const left: string[] = []
    const leaves = (name: string, line: Line): Promise<void> =>
      call(limiter, signal, line).then(() => void left.push(name))
    const readings = [1, 2, 3].map((n) => leaves(`reading ${n}`, 'table'))
    const edits = [1, 2].map((n) => leaves(`edit ${n}`, 'reconcile'))
    await time.advance(200)
    await Promise.all([...readings, ...edits])
    expect(left).toEqual(['edit 1', 'edit 2', 'reading 1', 'reading 2', 'reading 3'])
  })

  it('sends an edit before bulk calls, but every eighth call is a bulk call however many edits arrive', async () => {
    const time = new VirtualTime()
    const limiter = await slowedDown(time)
    await leave(limiter, time, 200) // Further calls have to wait.
    const { signal } = new AbortController()
    const left: string[] = []
    const leaves = (line: Line): Promise<void> => call(limiter, signal, line).then(() => void left.push(line))
    const bulk = Array.from({ length: 16 }, () => leaves('reconcile'))
    await time.advance(1)
    const edit = leaves('edit').then(() => time.monotonicMs())
    await time.advance(100)
    expect(left[0]).toBe('edit')
    expect(await edit).toBeLessThanOrEqual(1_221)
    const edits = Array.from({ length: 400 }, () => leaves('edit'))
    await time.advance(3_000)
    const late = left.slice(70)
    expect(late.length).toBeGreaterThan(90)
    expect(late.filter((line) => line === 'reconcile').length / late.length).toBeCloseTo(1 / 8, 1)
    await time.advance(5_000)
    await Promise.all([...bulk, ...edits])
  })

  it('limits how long a background call waits', async () => {
    const time = new VirtualTime()
    const limiter = await slowedDown(time)
    const end = new AbortController()
    const busy = leave(limiter, time, 3_000)
    const startedMs = time.monotonicMs()
    let waitedMs = Infinity
    const yielding = call(limiter, end.signal, 'table').then(() => (waitedMs = time.monotonicMs() - startedMs))
    await busy
    await yielding
    expect(waitedMs).toBeGreaterThan(900)
    expect(waitedMs).toBeLessThan(1_200)
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
