import { describe, expect, it } from '@jest/globals'
import { VirtualTime } from '../../src/runtime/index.ts'

describe('VirtualTime', () => {
  it('fires timers in the order of their time, and in the order of creation at the same time', async () => {
    const time = new VirtualTime()
    const fired: string[] = []
    time.after(20, () => fired.push('c'))
    time.after(10, () => fired.push('a'))
    time.after(10, () => fired.push('b'))
    await time.advance(15)
    expect(fired).toEqual(['a', 'b'])
    await time.advance(5)
    expect(fired).toEqual(['a', 'b', 'c'])
  })

  it('fires timers that a timer created, within the same advance', async () => {
    const time = new VirtualTime()
    const at: number[] = []
    time.after(10, () => time.after(10, () => at.push(time.monotonicMs())))
    await time.advance(100)
    expect(at).toEqual([20])
    expect(time.monotonicMs()).toBe(100)
  })

  it('settles promises between two timers', async () => {
    const time = new VirtualTime()
    const seen: number[] = []
    void (async () => {
      for (let turn = 0; turn < 3; turn += 1) {
        await time.sleep(10)
        seen.push(time.monotonicMs())
      }
    })()
    await time.advance(30)
    expect(seen).toEqual([10, 20, 30])
  })

  it('repeats every period until it is cancelled', async () => {
    const time = new VirtualTime()
    let fired = 0
    const cancel = time.every(1_000, () => (fired += 1))
    await time.advance(3_600_000)
    cancel()
    await time.advance(3_600_000)
    expect(fired).toBe(3_600)
    expect(time.pending).toBe(0)
  })

  it('rejects a sleep with the reason of its signal and leaves no timer', async () => {
    const time = new VirtualTime()
    const stop = new AbortController()
    const sleeping = time.sleep(1_000, stop.signal)
    stop.abort(new Error('enough'))
    await expect(sleeping).rejects.toThrow('enough')
    await expect(time.sleep(1, stop.signal)).rejects.toThrow('enough')
    expect(time.pending).toBe(0)
  })

  it('changes only the wall clock', async () => {
    const time = new VirtualTime(1_000_000)
    time.stepWall(-3_600_000)
    await time.advance(5)
    expect(time.wallMs()).toBe(1_000_000 - 3_600_000 + 5)
    expect(time.monotonicMs()).toBe(5)
  })
})
