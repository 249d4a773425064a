/** @module dashboard/tasks/task-text  Formats the tier and payload of a task. */
import type { Tier } from './tier-history.ts'

/** Priorities above 0 are high, below 0 low. */
export function tierOf(priority: number): Tier {
  if (priority > 0) return 'high'
  return priority < 0 ? 'low' : 'normal'
}

const PREVIEW_CHARACTERS = 200

/** A short JSON preview for a table row. Long strings are cut first, because a field may have up to 1 MB. */
export function payloadText(payload: unknown): string {
  const text = JSON.stringify(payload, (_, value: unknown) =>
    typeof value === 'string' ? value.slice(0, PREVIEW_CHARACTERS) : value,
  )
  return text.length <= PREVIEW_CHARACTERS
    ? text
    : `${text.slice(0, PREVIEW_CHARACTERS).replace(/[\uD800-\uDBFF]$/, '')}…`
}
