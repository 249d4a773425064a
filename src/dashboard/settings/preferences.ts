/**
 * @module dashboard/settings/preferences
 * What a person chose for this browser: colours, time zone, keys, and the name their changes carry. Every tab follows.
 * The theme is set before the first paint by `public/assets/theme.js`, which reads the same entry.
 */
import { useSyncExternalStore } from 'react'

export interface Preferences {
  readonly theme: 'system' | 'light' | 'dark'
  readonly utc: boolean
  /** Single-key shortcuts. */
  readonly keys: boolean
  /** Behind `dashboard:` in the history of a config (D39); empty: no name. */
  readonly name: string
}

const KEY = 'muster:preferences'
const DEFAULTS: Preferences = { theme: 'system', utc: false, keys: true, name: '' }

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
    }
  } catch {
    return DEFAULTS // Storage is forbidden, or holds something else.
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

export function prefer(change: Partial<Preferences>): void {
  const next = { ...current, ...change }
  try {
    localStorage.setItem(KEY, JSON.stringify(next))
  } catch {
    // For this page alone.
  }
  set(next)
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const usePreferences = (): Preferences => useSyncExternalStore(subscribe, preferences)
