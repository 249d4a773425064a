/**
 * @module dashboard/views/use-saved-views
 * Keeps saved views in this browser. The storage key contains the path, because two masters may share an origin behind
 * path prefixes.
 */
import { useSyncExternalStore } from 'react'
import { parseViews, withView, type SavedView } from './saved-views.ts'

const KEY = `muster:${new URL(document.baseURI).pathname}:views`

let current: readonly SavedView[] = read()
const listeners = new Set<() => void>()

addEventListener('storage', (event) => {
  if (event.key !== KEY && event.key !== null) return
  current = read()
  listeners.forEach((each) => each())
})

function read(): readonly SavedView[] {
  try {
    return parseViews(localStorage.getItem(KEY))
  } catch {
    return [] // Storage is blocked.
  }
}

function keep(next: readonly SavedView[]): void {
  current = next
  try {
    localStorage.setItem(KEY, JSON.stringify(next))
  } catch {
    // Storage is blocked: the views last until the page is closed.
  }
  listeners.forEach((each) => each())
}

export const saveView = (view: SavedView): void => keep(withView(current, view))
export const removeView = (name: string): void => keep(current.filter((each) => each.name !== name))

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const useSavedViews = (): readonly SavedView[] => useSyncExternalStore(subscribe, () => current)
