/** @module dashboard/api/session  Provides the API client and the permissions of the signed-in token to every page. */
import { createContext, useContext } from 'react'
import { RefusalLimiter } from '../../runtime/backoff/index.ts'
import { actorOf } from '../settings/actor.ts'
import { preferences } from '../settings/preferences.ts'
import { createApi, type Api } from './client.ts'
import type { Me, Rights } from './me.ts'
import { connectivity } from './connectivity.ts'
import { ServerClock } from './server-clock.ts'

export interface Session {
  readonly api: Api
  readonly me: Me
  /** The token was rejected: no requests are sent until the user signs in again. */
  readonly suspended: boolean
}

const localMs = (): number => Date.now()

/** Shared by all sessions: the master's time does not depend on the token. */
export const serverClock = new ServerClock(localMs)

/** Kept short, because users expect the dashboard to recover within seconds after an outage. */
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

/** The base URL of the API; ends in a slash. */
export const apiBase = (): URL => new URL('api/v1/', document.baseURI)

export function openApi(token: string, onUnauthorized: () => void = () => {}): Api {
  return createApi({
    base: apiBase(),
    token,
    clock: serverClock,
    localMs,
    refusals: refusalLimiter(),
    onUnauthorized,
    actor: () => actorOf(preferences().name),
    onResponse: (status) => connectivity.record(status),
  })
}

export const SessionContext = createContext<Session | null>(null)

export function useSession(): Session {
  const session = useContext(SessionContext)
  if (session === null) throw new TypeError('there is no SessionContext')
  return session
}

/** Whether the token covers the type and has the permission for it. */
export const hasPermission = (me: Me, type: string, permission: Me['permissions'][number]): boolean =>
  mayUse(me, type) && me.permissions.includes(permission)

/** Whether the token covers the type; without a type, whether it is an admin token. */
export function mayUse({ role, automations }: Rights, type?: string): boolean {
  return role === 'admin' || (type !== undefined && (automations.includes('*') || automations.includes(type)))
}
