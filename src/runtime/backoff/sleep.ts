/** @module runtime/backoff/sleep  Waits that a signal can end. */
import type { OneShotTimers } from './ports.ts'

/**
 * Waits `ms` milliseconds, or until `signal` aborts. Unlike `Timers.sleep` it does not reject, which fits loops of the
 * form `while (!signal.aborted) { …; await sleep(timers, delayMs, signal) }`.
 *
 * @param ms 0 or more.
 * @returns true after the whole time, false when the signal aborted first.
 */
export function sleep(timers: OneShotTimers, ms: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve(false)
    const onAbort = (): void => {
      cancel()
      resolve(false)
    }
    const cancel = timers.after(ms, () => {
      signal.removeEventListener('abort', onAbort)
      resolve(true)
    })
    signal.addEventListener('abort', onAbort, { once: true })
  })
}

/** Resolves when `signal` aborts; immediately if it has. Never rejects. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
