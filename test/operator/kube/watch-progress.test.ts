import { describe, expect, it } from '@jest/globals'
import { WatchProgress } from '../../../src/operator/kube/watch-progress.ts'
import { VirtualTime } from '../../../src/runtime/index.ts'

async function at(time: VirtualTime, ms: number): Promise<void> {
  await time.advance(ms - time.monotonicMs())
}

describe('the progress of a watch', () => {
  it('is the time at which a write was sent, once the watch has shown its version or a newer one', async () => {
    const time = new VirtualTime()
    const progress = new WatchProgress(time)
    progress.shown('99')
    expect(progress.asOfMs).toBe(-Infinity)
    await at(time, 1_000)
    progress.wrote('105', 900)
    progress.shown('104')
    expect(progress.asOfMs).toBe(-Infinity)
    progress.shown('110')
    expect(progress.asOfMs).toBe(900)
  })

  it('counts an event that came before the response to the write', () => {
    const progress = new WatchProgress(new VirtualTime())
    progress.shown('105')
    progress.wrote('105', 0)
    expect(progress.asOfMs).toBe(0)
  })

  it('never goes back', async () => {
    const time = new VirtualTime()
    const progress = new WatchProgress(time)
    progress.shown('200')
    progress.wrote('150', 800)
    progress.wrote('120', 300)
    expect(progress.asOfMs).toBe(800)
  })

  it('stays as it was while the watch is frozen for a minute, whatever is written', async () => {
    const time = new VirtualTime()
    const progress = new WatchProgress(time)
    progress.shown('100')
    progress.wrote('100', 0)
    for (let second = 1; second <= 60; second += 1) {
      await at(time, second * 1_000)
      progress.wrote(String(100 + second), second * 1_000)
    }
    expect(progress.asOfMs).toBe(0)
    progress.shown('160')
    expect(progress.asOfMs).toBeGreaterThan(50_000)
  })

  it('recovers when the store went back to a backup, whose versions are lower', async () => {
    const time = new VirtualTime()
    const progress = new WatchProgress(time)
    progress.shown('1000')
    progress.wrote('1001', 0)
    progress.shown('500') // The list of the restored store.
    await at(time, 6_000)
    progress.wrote('501', 6_000)
    progress.shown('501')
    expect(progress.asOfMs).toBe(6_000)
  })

  it('takes a version that is not a number as no proof', () => {
    const progress = new WatchProgress(new VirtualTime())
    progress.shown('b')
    progress.wrote('a', 0)
    progress.shown('c')
    expect(progress.asOfMs).toBe(-Infinity)
    progress.shown('a')
    expect(progress.asOfMs).toBe(0)
  })
})
