import { describe, expect, it } from '@jest/globals'
import { Limiter, type Line } from '../../../src/operator/fleet/limiter.ts'
import { VirtualTime } from '../../../src/runtime/index.ts'

/** Leaves as fast as it may, until the time is over: when each call left. */
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
  it('begins at 50 a second, evenly, and grows by 5 each clean second up to 400', async () => {
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

  it('halves once for all calls that were under way when the master refused, and pauses as long as it asked', async () => {
    const time = new VirtualTime()
    const limiter = new Limiter(time, time)
    await time.advance(10_000)
    expect(limiter.perSecond).toBe(100)
    for (let call = 0; call < 16; call += 1) limiter.refused(9_990, 2_000)
    expect(limiter.perSecond).toBe(50)
    const left = await leave(limiter, time, 3_000)
    expect([between(left, 10_000, 12_000), left[0]]).toEqual([0, 12_000])
    expect(between(left, 12_000, 12_100)).toBeLessThanOrEqual(6) // Who waited does not rush.
    limiter.refused(12_500, 0)
    expect(limiter.perSecond).toBeCloseTo(27.5)
  })

  it('lets calls that matter now go before those that yield, for a second', async () => {
    const time = new VirtualTime()
    const limiter = new Limiter(time, time)
    const { signal } = new AbortController()
    await leave(limiter, time, 200) // Whoever comes now has to wait.
    const left: string[] = []
    const leaves = (name: string, line: Line): Promise<void> =>
      limiter.turn(signal, line).then(() => void left.push(name))
    const readings = [1, 2, 3].map((n) => leaves(`reading ${n}`, 'table'))
    const edits = [1, 2].map((n) => leaves(`edit ${n}`, 'reconcile'))
    await time.advance(200)
    await Promise.all([...readings, ...edits])
    expect(left).toEqual(['edit 1', 'edit 2', 'reading 1', 'reading 2', 'reading 3'])
  })

  it('lets an edit go before bulk work, which keeps a turn of eight however many edits come', async () => {
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

  it('does not let a call yield for ever', async () => {
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

  it('never falls below a call a second, and lets a caller leave the line', async () => {
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
