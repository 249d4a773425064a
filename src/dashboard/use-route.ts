/** @module dashboard/use-route  The place of the address bar, and going to another. */
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

/** Opens a place; the way back leads to the one before. */
export function goTo(target: Target): void {
  location.hash = formatRoute(target)
}

/** The same place with other fields, as typing in a filter makes them: no step of the way back. */
export function replaceRoute(target: Target): void {
  history.replaceState(history.state, '', formatRoute(target))
  listeners.forEach((each) => each())
}
