/**
 * @module automation/signals
 * Abort signals of a run, without leaving listeners on signals that live longer: a slot may run millions of tasks.
 */

export interface Follower {
  /** Aborts with the reason of the first source that does. */
  readonly signal: AbortSignal
  /** Stops listening to the sources. */
  readonly end: () => void
}

export function follow(...sources: readonly AbortSignal[]): Follower {
  const controller = new AbortController()
  const listeners = sources.map((source) => onAbort(source, () => controller.abort(source.reason)))
  return { signal: controller.signal, end: () => listeners.forEach((remove) => remove()) }
}

/** Calls `listener` once when `signal` aborts, at once when it has. The answer stops that. */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  if (signal.aborted) listener()
  else signal.addEventListener('abort', listener, { once: true })
  return () => signal.removeEventListener('abort', listener)
}

/** How a run of a plugin ended. `abandoned`: it had not when its time was up. */
export type Ending =
  { readonly how: 'returned' } | { readonly how: 'threw'; readonly thrown: unknown } | { readonly how: 'abandoned' }

const RETURNED: Ending = { how: 'returned' }
const ABANDONED: Ending = { how: 'abandoned' }

/** Runs `run` until it settles or `killed` aborts. Never rejects, whatever `run` does, and whenever. */
export function runUntil(run: () => Promise<void> | void, killed: AbortSignal): Promise<Ending> {
  return new Promise((resolve) => {
    const stopListening = onAbort(killed, () => resolve(ABANDONED))
    const end = (ending: Ending): void => {
      stopListening()
      resolve(ending)
    }
    void (async () => run())().then(
      () => end(RETURNED),
      (thrown: unknown) => end({ how: 'threw', thrown }),
    )
  })
}
