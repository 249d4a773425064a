/**
 * @module dashboard/sign-in/token-store
 * The token in this browser, or in this tab alone, under a name of this master's own: two masters may share an origin
 * behind path prefixes.
 */
const KEY = `muster:${new URL(document.baseURI).pathname}:token`

/** A browser may forbid storage; the token then lives as long as the page. */
function tried<T>(act: () => T, otherwise: T): T {
  try {
    return act()
  } catch {
    return otherwise
  }
}

export function storedToken(): string | null {
  return tried(() => sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY), null)
}

/** @param isTabOnly forgotten with the tab, and not known to the others. */
export function storeToken(token: string, isTabOnly: boolean): void {
  removeToken()
  tried(() => (isTabOnly ? sessionStorage : localStorage).setItem(KEY, token), undefined)
}

export function removeToken(): void {
  tried(() => sessionStorage.removeItem(KEY), undefined)
  tried(() => localStorage.removeItem(KEY), undefined)
}

/** Calls back when another tab signed out. */
export function onSignedOutElsewhere(act: () => void): () => void {
  const listener = (event: StorageEvent): void => {
    if ((event.key === KEY || event.key === null) && storedToken() === null) act()
  }
  addEventListener('storage', listener)
  return () => removeEventListener('storage', listener)
}
