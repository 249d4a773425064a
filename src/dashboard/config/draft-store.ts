/**
 * @module dashboard/config/draft-store
 * Drafts by worker, for as long as the page is open: they outlive a look at another place, and are in memory alone, since
 * they may hold secrets. Leaving the page with one asks first.
 */
import { useCallback, useSyncExternalStore } from 'react'
import type { ConfigDraft } from './draft.ts'

const drafts = new Map<string, ConfigDraft>()
const listeners = new Set<() => void>()

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function put(key: string, draft: ConfigDraft | null): void {
  if (draft === null) drafts.delete(key)
  else drafts.set(key, draft)
  for (const each of listeners) each()
}

/** The person signed out: what they typed is nobody's. */
export function forgetDrafts(): void {
  drafts.clear()
  for (const each of listeners) each()
}

/** The draft of a worker, null while there is none, and how to put another in its place. */
export function useDraft(key: string): readonly [ConfigDraft | null, (draft: ConfigDraft | null) => void] {
  const draft = useSyncExternalStore(subscribe, () => drafts.get(key) ?? null)
  return [draft, useCallback((next) => put(key, next), [key])]
}

addEventListener('beforeunload', (event) => {
  if (drafts.size > 0) event.preventDefault()
})
