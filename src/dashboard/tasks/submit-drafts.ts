/**
 * @module dashboard/tasks/submit-drafts
 * Keeps the submit form and its idempotency key for each type while the user visits other pages. Drafts stay in memory
 * only, because a payload may contain secrets. The browser warns before the page is closed with an unsubmitted draft.
 */
import { useSyncExternalStore } from 'react'
import type { JsonObject } from '../../protocol/index.ts'
import type { Automation } from '../api/automations.ts'
import { newSubmission, payloadExample, randomKey, type Submission } from './submission.ts'

const drafts = new Map<string, Submission>()
/** Types with unsubmitted input. */
const typed = new Set<string>()
const watchers = new Set<() => void>()

addEventListener('beforeunload', (event) => {
  if (typed.size > 0) event.preventDefault()
})

export const freshKey = (): string => randomKey((bytes) => crypto.getRandomValues(bytes))

function draftFor({ type, payloadSchema }: Automation): Submission {
  const kept = drafts.get(type)
  if (kept !== undefined) return kept
  const fresh = newSubmission(freshKey(), payloadExample(payloadSchema as JsonObject | null))
  drafts.set(type, fresh)
  return fresh
}

export function putDraft(type: string, change: (last: Submission) => Submission): void {
  const last = drafts.get(type)
  if (last === undefined) return
  drafts.set(type, change(last))
  typed.add(type)
  watchers.forEach((each) => each())
}

/** Called after a confirmed submission. The next submission gets a new idempotency key. */
export function settleDraft(type: string): void {
  putDraft(type, (now) => ({ ...now, taskId: '', idempotencyKey: freshKey() }))
  typed.delete(type)
}

/** Called when the user signs out. */
export function forgetSubmissions(): void {
  drafts.clear()
  typed.clear()
  watchers.forEach((each) => each())
}

const watch = (watcher: () => void): (() => void) => {
  watchers.add(watcher)
  return () => watchers.delete(watcher)
}

export const useDraft = (automation: Automation): Submission => useSyncExternalStore(watch, () => draftFor(automation))
