/**
 * @module automation/signals
 * Combines the abort signals of a run without leaving listeners on long-lived signals: a slot may run millions of
 * tasks.
 */

export interface Follower {
  /** Aborts when the first source aborts, with its reason. */
  readonly signal: AbortSignal
  /** Removes the listeners from the sources. */
  readonly end: () => void
}

export function follow(...sources: readonly AbortSignal[]): Follower {
  const controller = new AbortController()
  const listeners = sources.map((source) => onAbort(source, () => controller.abort(source.reason)))
  return { signal: controller.signal, end: () => listeners.forEach((remove) => remove()) }
}

/**
 * Calls `listener` once when `signal` aborts, or immediately if it already has. @returns a function that removes it.
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  if (signal.aborted) listener()
  else signal.addEventListener('abort', listener, { once: true })
  return () => signal.removeEventListener('abort', listener)
}

/** How a run of a plugin ended. `abandoned`: it was killed before it ended. */
export type Ending =
  | { readonly how: 'returned'; readonly value: unknown }
  | { readonly how: 'threw'; readonly thrown: unknown }
  | { readonly how: 'abandoned' }

const ABANDONED: Ending = { how: 'abandoned' }

/** Runs `run` until it settles or `killed` aborts. Never rejects, even if `run` throws later. */
export function runUntil(run: () => unknown, killed: AbortSignal): Promise<Ending> {
  return new Promise((resolve) => {
    const stopListening = onAbort(killed, () => resolve(ABANDONED))
    const end = (ending: Ending): void => {
      stopListening()
      resolve(ending)
    }
    void (async () => run())().then(
      (value) => end({ how: 'returned', value }),
      (thrown: unknown) => end({ how: 'threw', thrown }),
    )
  })
}
