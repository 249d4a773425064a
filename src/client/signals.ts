/** @module client/signals  Promises that a signal can end, and signals that abort by time. */
import type { Timers } from '../runtime/index.ts'
import { MasterError } from './master-error.ts'

/** Settles a promise, and may return what has to be undone when the signal aborts first. */
type Begin<T> = (resolve: (value: T) => void, reject: (error: unknown) => void) => (() => void) | void

/**
 * Creates a promise like `new Promise(begin)` that also rejects when the signal aborts.
 * @param signal Never aborts if omitted.
 * @param begin Not called if the signal has aborted. What it returns is called when the signal aborts.
 * @throws the reason of the signal.
 */
export async function untilAborted<T>(signal: AbortSignal | undefined, begin: Begin<T>): Promise<T> {
  if (signal === undefined) return new Promise<T>((resolve, reject) => void begin(resolve, reject))
  signal.throwIfAborted()
  let abort = (): void => {}
  const settled = new Promise<T>((resolve, reject) => {
    const undo = begin(resolve, reject)
    abort = () => {
      undo?.()
      reject(signal.reason as Error)
    }
    signal.addEventListener('abort', abort)
  })
  return settled.finally(() => signal.removeEventListener('abort', abort))
}

/**
 * Aborts a controller, with the same reason, when another signal aborts. `AbortSignal.any` would do the same for eight
 * times the processor time.
 * @param controller What is aborted.
 * @param parent Has the listener until the returned function is called, or as long as it lives.
 * @returns a function that ends this.
 */
export function follow(controller: AbortController, parent: AbortSignal): () => void {
  const abort = (): void => controller.abort(parent.reason)
  if (parent.aborted) abort()
  parent.addEventListener('abort', abort)
  return () => parent.removeEventListener('abort', abort)
}

/**
 * Aborts with a {@link MasterError} TIMED_OUT.
 * @param timers Wait that long.
 * @param late What is aborted.
 * @param ms After this time.
 * @param sentence The message, to which the time is appended.
 * @returns a function that prevents it.
 */
export function abortAfter(
  timers: Pick<Timers, 'after'>,
  late: AbortController,
  ms: number,
  sentence: string,
): () => void {
  return timers.after(ms, () => late.abort(new MasterError('TIMED_OUT', `${sentence} ${ms / 1_000} s`)))
}
