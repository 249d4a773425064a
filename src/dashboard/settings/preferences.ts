/**
 * @module dashboard/settings/preferences
 * Stores the user's preferences in this browser: theme, time zone, shortcuts, actor name and columns. All tabs are kept
 * in sync. `public/assets/theme.js` reads the same entry and sets the theme before the first paint.
 */
import { useSyncExternalStore } from 'react'

export interface Preferences {
  readonly theme: 'system' | 'light' | 'dark'
  readonly utc: boolean
  /** Whether single-key shortcuts are enabled. */
  readonly keys: boolean
  /** Appended to `dashboard:` as the actor in the config history (D39); empty if not set. */
  readonly name: string
  /** Columns of the worker list that the user has shown or hidden, by name. */
  readonly columns: Readonly<Record<string, boolean>>
}

const KEY = 'muster:preferences'
const DEFAULTS: Preferences = { theme: 'system', utc: false, keys: true, name: '', columns: {} }

let current = read()
const listeners = new Set<() => void>()

addEventListener('storage', (event) => {
  if (event.key === KEY || event.key === null) set(read())
})

function read(): Preferences {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<Preferences>
    return {
      theme: kept.theme === 'light' || kept.theme === 'dark' ? kept.theme : 'system',
      utc: kept.utc === true,
      keys: kept.keys !== false,
      name: typeof kept.name === 'string' ? kept.name : '',
      columns: typeof kept.columns === 'object' && kept.columns !== null ? kept.columns : {},
    }
  } catch {
    return DEFAULTS // Storage is blocked, or the entry is not valid JSON.
  }
}

function set(next: Preferences): void {
  current = next
  const { dataset } = document.documentElement
  if (next.theme === 'system') delete dataset['theme']
  else dataset['theme'] = next.theme
  listeners.forEach((each) => each())
}

export const preferences = (): Preferences => current

export function changePreferences(change: Partial<Preferences>): void {
  const next = { ...current, ...change }
  try {
    localStorage.setItem(KEY, JSON.stringify(next))
  } catch {
    // Storage is blocked: the preference lasts until the page is closed.
  }
  set(next)
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const usePreferences = (): Preferences => useSyncExternalStore(subscribe, preferences)
