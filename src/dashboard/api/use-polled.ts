/**
 * @module dashboard/api/use-polled
 * `poll` for a component: runs while it is shown and the tab is visible, starts over when `key` or the token changes.
 */
import { useCallback, useEffect, useRef, useState } from 'react'
import type { Api } from './client.ts'
import { NOTHING_YET, poll, type Polled } from './poll.ts'
import { useSession } from './session.ts'

export interface PolledNow<T> extends Polled<T> {
  /** Reads now instead of at the next turn. */
  readonly refresh: () => void
}

/** Polls of many tabs, and of many people, are not to fall into step. */
const JITTER = 0.1

export function usePolled<T>(key: string, everyMs: number, load: (api: Api, signal: AbortSignal) => Promise<T>): PolledNow<T> {
  const { api } = useSession()
  const [state, setState] = useState<{ readonly key: string; readonly polled: Polled<T> }>({ key, polled: NOTHING_YET })
  const newestLoad = useRef(load)
  const wake = useRef(() => {})
  useEffect(() => {
    newestLoad.current = load
  })
  useEffect(() => {
    const stop = new AbortController()
    void poll({
      load: (signal) => newestLoad.current(api, signal),
      everyMs, signal: stop.signal, localMs: () => Date.now(),
      report: (polled) => setState((last) => ({ key, polled: last.key === key && polled.data === undefined ? { ...last.polled, problem: polled.problem } : polled })),
      pause: (ms) => pause(ms, stop.signal, (awaken) => (wake.current = awaken)),
    })
    return () => stop.abort()
  }, [api, key, everyMs])
  const refresh = useCallback(() => wake.current(), [])
  return { ...(state.key === key ? state.polled : NOTHING_YET), refresh }
}

/** Ends after `ms` of a visible tab, at `awaken`, or at the abort. */
function pause(ms: number, signal: AbortSignal, offer: (awaken: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', onShown)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const onTime = (): void => {
      if (document.visibilityState === 'visible') done()
      else document.addEventListener('visibilitychange', onShown)
    }
    const onShown = (): void => {
      if (document.visibilityState === 'visible') done()
    }
    const timer = setTimeout(onTime, ms * (1 + JITTER * (2 * Math.random() - 1)))
    signal.addEventListener('abort', done)
    offer(done)
  })
}
