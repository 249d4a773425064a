/** @module operator/fleet/bell  Wakes a loop that waits for its time or for news. */
import type { Timers } from '../../runtime/index.ts'

export class Bell {
  readonly #timers: Timers
  readonly #waiting = new Set<() => void>()

  constructor(timers: Timers) {
    this.#timers = timers
  }

  ring(): void {
    for (const wake of this.#waiting) wake()
  }

  /** Resolves at the next ring, after `ms` at the latest, or when the signal aborts. */
  heard(signal: AbortSignal, ms = Infinity): Promise<void> {
    if (signal.aborted || ms <= 0) return Promise.resolve()
    return new Promise((resolve) => {
      const cancel = ms === Infinity ? () => {} : this.#timers.after(ms, () => wake())
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
