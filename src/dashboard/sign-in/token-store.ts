/**
 * @module dashboard/sign-in/token-store
 * The token in local storage, under a name of this master's own: two masters may share an origin behind path prefixes.
 */
const KEY = `muster:${new URL(document.baseURI).pathname}:token`

/** A browser may forbid storage; the token then lives as long as the page. */
export function storedToken(): string | null {
  try {
    return localStorage.getItem(KEY)
  } catch {
    return null // As if nobody had signed in yet.
  }
}

export function storeToken(token: string): void {
  try {
    localStorage.setItem(KEY, token)
  } catch {
    // Signed in for this page alone.
  }
}

export function removeToken(): void {
  try {
    localStorage.removeItem(KEY)
  } catch {
    // Nothing was kept.
  }
}

/** Calls back when another tab signed out. */
export function onSignedOutElsewhere(act: () => void): () => void {
  const listener = (event: StorageEvent): void => {
    if ((event.key === KEY || event.key === null) && storedToken() === null) act()
  }
  addEventListener('storage', listener)
  return () => removeEventListener('storage', listener)
}
