/**
 * @module dashboard/sign-in/token-store
 * Stores the token for this browser or for this tab only. The storage key contains the path, because two masters may
 * share an origin behind path prefixes. Beside the token of an identity provider it stores what renews it.
 */
const PREFIX = `muster:${new URL(document.baseURI).pathname}:`
const KEY = `${PREFIX}token`
const SESSION_KEY = `${PREFIX}session`
/** What a tab remembers while its user is at the identity provider. */
export const ATTEMPT_KEY = `${PREFIX}sign-in`

/** Ignores errors of blocked storage; the token then lasts until the page is closed. */
function withFallback<T>(act: () => T, otherwise: T): T {
  try {
    return act()
  } catch {
    return otherwise
  }
}

export function storedToken(): string | null {
  return withFallback(() => sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY), null)
}

/**
 * @param isTabOnly Stores the token for this tab only, until it is closed.
 * @param session Of a token of an identity provider, which is for this tab only: see provider/session.ts.
 */
export function storeToken(token: string, isTabOnly: boolean, session?: string): void {
  removeToken()
  withFallback(() => (isTabOnly ? sessionStorage : localStorage).setItem(KEY, token), undefined)
  if (session !== undefined) storeSession(session)
}

export function removeToken(): void {
  for (const key of [KEY, SESSION_KEY]) withFallback(() => sessionStorage.removeItem(key), undefined)
  withFallback(() => localStorage.removeItem(KEY), undefined)
}

/** @returns null unless the token is one of an identity provider. */
export const storedSession = (): string | null => withFallback(() => sessionStorage.getItem(SESSION_KEY), null)

export const storeSession = (session: string): void =>
  withFallback(() => sessionStorage.setItem(SESSION_KEY, session), undefined)

/** @returns the response of an identity provider in the address, which is removed from it; null if there is none. */
export function takeResponse(): URLSearchParams | null {
  const response = new URLSearchParams(location.search)
  if (!response.has('state')) return null
  history.replaceState(null, '', location.pathname + location.hash)
  return response
}

/** Calls `act` when another tab signs out. @returns a function that unsubscribes. */
export function onSignedOutElsewhere(act: () => void): () => void {
  const listener = (event: StorageEvent): void => {
    if ((event.key === KEY || event.key === null) && storedToken() === null) act()
  }
  addEventListener('storage', listener)
  return () => removeEventListener('storage', listener)
}
