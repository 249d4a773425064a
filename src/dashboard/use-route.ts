/** @module dashboard/use-route  The place of the address bar. */
import { useMemo, useSyncExternalStore } from 'react'
import { parseRoute, type Route } from './route.ts'

function subscribe(listener: () => void): () => void {
  addEventListener('hashchange', listener)
  return () => removeEventListener('hashchange', listener)
}

export function useRoute(): Route {
  const hash = useSyncExternalStore(subscribe, () => location.hash)
  return useMemo(() => parseRoute(hash), [hash])
}
