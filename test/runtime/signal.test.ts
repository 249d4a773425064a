/** @module test/runtime/signal */
import { describe, expect, it } from '@jest/globals'
import { Signal, VirtualTime } from '../../src/runtime/index.ts'

/** Starts waiting, and reports whether the wait has ended. */
function waiting(signal: Signal, abort = new AbortController(), timeoutMs?: number) {
  const state = { ended: false }
  void signal.wait(abort.signal, timeoutMs).then(() => (state.ended = true))
  return state
}

describe('Signal', () => {
  it('wakes everyone who waits at the time of the notification, and no later wait', async () => {
    const time = new VirtualTime()
    const signal = new Signal(time)
    const [first, second] = [waiting(signal), waiting(signal)]
    signal.notify()
    const later = waiting(signal)
    await time.advance(60_000)
    expect([first.ended, second.ended, later.ended]).toEqual([true, true, false])
  })

  it('wakes after the timeout', async () => {
    const time = new VirtualTime()
    const wait = waiting(new Signal(time), undefined, 1_000)
    await time.advance(999)
    expect(wait.ended).toBe(false)
    await time.advance(1)
    expect(wait.ended).toBe(true)
  })

  it('wakes on abort, also one that happened before', async () => {
    const time = new VirtualTime()
    const abort = new AbortController()
    const signal = new Signal(time)
    const wait = waiting(signal, abort)
    abort.abort()
    await time.advance(0)
    const after = waiting(signal, abort)
    await time.advance(0)
    expect([wait.ended, after.ended]).toEqual([true, true])
  })
})
