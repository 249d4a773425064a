/**
 * @module dashboard/config/draft-store
 * Stores drafts by worker while the dashboard is open, across navigation. Drafts are kept in memory only, because they
 * may contain secrets. The browser asks for confirmation before the dashboard is closed with a draft.
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

/** Deletes all drafts; called when the user signs out. */
export function forgetDrafts(): void {
  drafts.clear()
  for (const each of listeners) each()
}

/** @returns the draft of a worker (null if there is none), and a function that replaces it. */
export function useDraft(key: string): readonly [ConfigDraft | null, (draft: ConfigDraft | null) => void] {
  const draft = useSyncExternalStore(subscribe, () => drafts.get(key) ?? null)
  return [draft, useCallback((next) => put(key, next), [key])]
}

addEventListener('beforeunload', (event) => {
  if (drafts.size > 0) event.preventDefault()
})
