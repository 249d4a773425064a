import { describe, expect, it } from '@jest/globals'
import { aborted, sleep, VirtualTime } from '../../src/runtime/index.ts'

describe('sleep', () => {
  it('returns true after the whole time', async () => {
    const time = new VirtualTime()
    const slept = sleep(time, 100, new AbortController().signal)
    await time.advance(99)
    expect(time.pending).toBe(1)
    await time.advance(1)
    expect(await slept).toBe(true)
    expect(time.pending).toBe(0)
  })

  it('returns false as soon as the signal aborts, and cancels its timer', async () => {
    const time = new VirtualTime()
    const abort = new AbortController()
    const slept = sleep(time, 100, abort.signal)
    abort.abort()
    expect(await slept).toBe(false)
    expect(time.pending).toBe(0)
  })

  it('returns false without a timer when the signal has already aborted', async () => {
    const time = new VirtualTime()
    expect(await sleep(time, 100, AbortSignal.abort())).toBe(false)
    expect(time.pending).toBe(0)
  })
})

describe('aborted', () => {
  it('resolves when the signal aborts, or immediately if it has', async () => {
    const abort = new AbortController()
    const ended = aborted(abort.signal)
    abort.abort()
    await ended
    await aborted(abort.signal)
    expect(abort.signal.aborted).toBe(true)
  })
})
