/**
 * @module dashboard/components/use-now
 * Provides the current time, rounded down to the second. It is a context (with-now.tsx), because a list shows hundreds
 * of ages and each would otherwise subscribe and unsubscribe at every key press in its filter.
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

/** Local milliseconds, for times recorded by this browser. */
export const useLocalNow = (): number => useContext(NowContext).localMs

/** The master's time in Unix seconds, for times from the API. */
export const useServerNow = (): number => useContext(NowContext).serverSeconds
