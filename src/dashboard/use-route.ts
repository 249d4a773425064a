/** @module dashboard/use-route  Provides the current route and navigation to another. */
import { useMemo, useSyncExternalStore } from 'react'
import { formatRoute, parseRoute, type Route, type Target } from './route.ts'

const listeners = new Set<() => void>()
addEventListener('hashchange', () => listeners.forEach((each) => each()))

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function useRoute(): Route {
  const hash = useSyncExternalStore(subscribe, () => location.hash)
  return useMemo(() => parseRoute(hash), [hash])
}

/** Opens a page and adds a history entry. */
export function goTo(target: Target): void {
  location.hash = formatRoute(target)
}

/** Updates the query fields of the current page, for example while typing in a filter, without a history entry. */
export function replaceRoute(target: Target): void {
  history.replaceState(history.state, '', formatRoute(target))
  listeners.forEach((each) => each())
}
