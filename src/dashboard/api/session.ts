/** @module dashboard/api/session  What every place needs: the API with the token of the person, and what they may do. */
import { createContext, useContext } from 'react'
import { RefusalLimiter } from '../../runtime/backoff/index.ts'
import { actorOf } from '../settings/actor.ts'
import { preferences } from '../settings/preferences.ts'
import { createApi, type Api } from './client.ts'
import type { Me, Rights } from './me.ts'
import { reach } from './reach.ts'
import { ServerClock } from './server-clock.ts'

export interface Session {
  readonly api: Api
  readonly me: Me
  /** The token was refused: nothing is asked until there is another. */
  readonly suspended: boolean
}

const localMs = (): number => Date.now()

/** One for the page: the master's time does not depend on who asks. */
export const serverClock = new ServerClock(localMs)

/** A page is watched: after an outage it is right again within seconds. */
const MAX_REFUSAL_GAP_MS = 1_000

function refusalLimiter(): RefusalLimiter {
  const after = (ms: number, task: () => void): (() => void) => {
    const timer = setTimeout(task, ms)
    return () => clearTimeout(timer)
  }
  return new RefusalLimiter({
    clock: { monotonicMs: () => performance.now() },
    timers: { after },
    random: { unit: Math.random },
    capMs: MAX_REFUSAL_GAP_MS,
  })
}

/** Below this, an address of the API begins; ends in a slash. */
export const apiBase = (): URL => new URL('api/v1/', document.baseURI)

export function openApi(token: string, onRefused: () => void = () => {}): Api {
  return createApi({
    base: apiBase(),
    token,
    clock: serverClock,
    localMs,
    refusals: refusalLimiter(),
    onRefused,
    actor: () => actorOf(preferences().name),
    heard: (status) => reach.heard(status),
  })
}

export const SessionContext = createContext<Session | null>(null)

export function useSession(): Session {
  const session = useContext(SessionContext)
  if (session === null) throw new TypeError('a place is shown without a session')
  return session
}

/** Whether the token covers the type; undefined is what only an admin may do. */
export function mayUse({ role, automations }: Rights, type?: string): boolean {
  return role === 'admin' || (type !== undefined && (automations.includes('*') || automations.includes(type)))
}
