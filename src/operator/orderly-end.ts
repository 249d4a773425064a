/**
 * @module operator/orderly-end
 * Ends a term of leadership in order, within 10 s: no further key starts, running reconciles may finish, and then the
 * statuses are sent.
 */
import type { Timers } from '../runtime/index.ts'

/** Bounds the running reconciles, and then the status writes that follow them. */
const END_MS = 5_000

export class OrderlyEnd {
  readonly #timers: Timers
  readonly #last = new AbortController()
  readonly #cut = new AbortController()
  /** Aborts when no further key may start. */
  readonly ending: AbortSignal
  /** Aborts the running reconciles. */
  readonly running: AbortSignal

  /** @param signal Aborts when the lease is lost. */
  constructor(timers: Timers, signal: AbortSignal) {
    this.#timers = timers
    this.ending = AbortSignal.any([signal, this.#last.signal])
    this.running = AbortSignal.any([signal, this.#cut.signal])
  }

  /** @param flush Sends the statuses until its signal aborts. */
  async end(works: Promise<unknown> | undefined, flush: (signal: AbortSignal) => Promise<void>): Promise<void> {
    this.#last.abort(new Error('the operator stops'))
    const cancel = this.#timers.after(END_MS, () => this.#cut.abort(new Error('the operator stops')))
    await works
    cancel()
    const late = new AbortController()
    const cancelFlush = this.#timers.after(END_MS, () => late.abort())
    await flush(late.signal)
    cancelFlush()
  }
}
