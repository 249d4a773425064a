/**
 * Replaces `AbortSignal.any` while simulations run. Node keeps each linked signal with a listener until it is aborted.
 * A killed process aborts nothing, so each run would stay in memory. Here a linked signal lives as long as its sources.
 */

/** Replaces the function. @returns a function that restores it. */
export function linkSignalsWeakly(): () => void {
  const original = AbortSignal.any.bind(AbortSignal)
  AbortSignal.any = (iterable) => {
    const sources = [...iterable]
    const linked = new AbortController()
    const onAbort = (): void => {
      for (const source of sources) source.removeEventListener('abort', onAbort)
      linked.abort(sources.find(({ aborted }) => aborted)?.reason)
    }
    if (sources.some(({ aborted }) => aborted)) onAbort()
    else for (const source of sources) source.addEventListener('abort', onAbort)
    return linked.signal
  }
  return () => {
    AbortSignal.any = original
  }
}
