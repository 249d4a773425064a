/** @module dashboard/parts/use-now  The time, as of the last full second; one timer for the whole page. */
import { useSyncExternalStore } from 'react'
import { serverClock } from '../api/session.ts'

const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= setInterval(() => listeners.forEach((each) => each()), 1_000)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** Local milliseconds, for what this browser did itself. */
export const useLocalNow = (): number => useSyncExternalStore(subscribe, () => Math.floor(Date.now() / 1_000) * 1_000)

/** Unix seconds of the master, for every time on the wire. */
export const useServerNow = (): number => useSyncExternalStore(subscribe, () => Math.floor(serverClock.nowSeconds()))
