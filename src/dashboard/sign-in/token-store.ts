/**
 * @module dashboard/sign-in/token-store
 * Stores the token for this browser or for this tab only. The storage key contains the path, because two masters may
 * share an origin behind path prefixes.
 */
const KEY = `muster:${new URL(document.baseURI).pathname}:token`

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

/** @param isTabOnly Stores the token for this tab only, until it is closed. */
export function storeToken(token: string, isTabOnly: boolean): void {
  removeToken()
  withFallback(() => (isTabOnly ? sessionStorage : localStorage).setItem(KEY, token), undefined)
}

export function removeToken(): void {
  withFallback(() => sessionStorage.removeItem(KEY), undefined)
  withFallback(() => localStorage.removeItem(KEY), undefined)
}

/** Calls `act` when another tab signs out. @returns a function that unsubscribes. */
export function onSignedOutElsewhere(act: () => void): () => void {
  const listener = (event: StorageEvent): void => {
    if ((event.key === KEY || event.key === null) && storedToken() === null) act()
  }
  addEventListener('storage', listener)
  return () => removeEventListener('storage', listener)
}
