/**
 * @module runtime/signal
 * Signal wakes the loops that wait for a notification or for their next due time, whichever comes first.
 */
import type { Timers } from './clock.ts'

export class Signal {
  readonly #timers: Timers
  readonly #waiting = new Set<() => void>()

  constructor(timers: Timers) {
    this.#timers = timers
  }

  /** Wakes all that wait now. A later `wait` does not see this notification. */
  notify(): void {
    for (const wake of this.#waiting) wake()
  }

  /**
   * @param timeoutMs when to wake without a notification; 0 or less resolves immediately, `Infinity` never times out.
   * @returns resolves on the next `notify`, after `timeoutMs`, or when `signal` aborts. Never rejects.
   */
  wait(signal: AbortSignal, timeoutMs = Infinity): Promise<void> {
    if (signal.aborted || timeoutMs <= 0) return Promise.resolve()
    return new Promise((resolve) => {
      const cancel = timeoutMs === Infinity ? () => {} : this.#timers.after(timeoutMs, () => wake())
      const wake = (): void => {
        cancel()
        signal.removeEventListener('abort', wake)
        this.#waiting.delete(wake)
        resolve()
      }
      signal.addEventListener('abort', wake)
      this.#waiting.add(wake)
    })
  }
}
