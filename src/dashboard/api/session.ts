/** @module dashboard/api/session  What every place needs: the API with the token of the person, and what they may do. */
import { createContext, useContext } from 'react'
import { createApi, type Api } from './client.ts'
import type { Me } from './me.ts'
import { ServerClock } from './server-clock.ts'

export interface Session {
  readonly api: Api
  readonly me: Me
}

const localMs = (): number => Date.now()

/** One for the page: the master's time does not depend on who asks. */
export const serverClock = new ServerClock(localMs)

export function openApi(token: string, onRefused: () => void = () => {}): Api {
  return createApi({ base: new URL('api/v1/', document.baseURI), token, clock: serverClock, localMs, onRefused })
}

export const SessionContext = createContext<Session | null>(null)

export function useSession(): Session {
  const session = useContext(SessionContext)
  if (session === null) throw new TypeError('a place is shown without a session')
  return session
}
