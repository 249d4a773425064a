/**
 * @module dashboard/parts/use-now
 * The time, as of the last full second. It comes by context (with-now.tsx): a list shows hundreds of ages, and as many
 * subscriptions would be made and ended at every key press in its filter.
 */
import { createContext, useContext } from 'react'
import { serverClock } from '../api/session.ts'

export interface Now {
  readonly localMs: number
  readonly serverSeconds: number
}

export const readNow = (): Now => ({
  localMs: Math.floor(Date.now() / 1_000) * 1_000,
  serverSeconds: Math.floor(serverClock.nowSeconds()),
})

export const NowContext = createContext(readNow())

/** Local milliseconds, for what this browser did itself. */
export const useLocalNow = (): number => useContext(NowContext).localMs

/** Unix seconds of the master, for every time on the wire. */
export const useServerNow = (): number => useContext(NowContext).serverSeconds
