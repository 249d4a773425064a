/**
 * @module dashboard/config/draft-store
 * Stores drafts by worker while the dashboard is open, across navigation. Whole drafts are kept in memory only, because
 * they may contain secrets; what cannot be secret also survives a reload (draft-storage.ts). The browser asks for
 * confirmation before the dashboard is closed with a draft.
 */
import { useCallback, useSyncExternalStore } from 'react'
import type { ConfigDraft, Form } from './draft.ts'
import { draftText, readDraft, removeDrafts, writeDraft } from './draft-storage.ts'

const drafts = new Map<string, ConfigDraft>()
/** Drafts that were looked for in the storage. */
const restored = new Set<string>()
const listeners = new Set<() => void>()

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function get(key: string): ConfigDraft | null {
  if (!restored.has(key)) {
    restored.add(key)
    const draft = readDraft(key)
    if (draft !== null) drafts.set(key, draft)
  }
  return drafts.get(key) ?? null
}

function put(key: string, form: Form, draft: ConfigDraft | null): void {
  if (draft === null) drafts.delete(key)
  else drafts.set(key, draft)
  writeDraft(key, draft === null ? null : draftText(form, draft))
  for (const each of listeners) each()
}

/** Deletes all drafts; called when the user signs out. */
export function forgetDrafts(): void {
  drafts.clear()
  removeDrafts()
  for (const each of listeners) each()
}

/** @returns the draft of a worker (null if there is none), and a function that replaces it. */
export function useDraft(key: string, form: Form): readonly [ConfigDraft | null, (draft: ConfigDraft | null) => void] {
  const draft = useSyncExternalStore(subscribe, () => get(key))
  return [draft, useCallback((next) => put(key, form, next), [key, form])]
}

addEventListener('beforeunload', (event) => {
  if (drafts.size > 0) event.preventDefault()
})
