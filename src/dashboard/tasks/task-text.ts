/** @module dashboard/tasks/task-text  Parts of a task as short text. */
import type { Tier } from './tier-history.ts'

/** Above 0 is taken first, below 0 last. */
export const tierOf = (priority: number): Tier => (priority > 0 ? 'high' : priority < 0 ? 'low' : 'normal')

const PREVIEW_CHARACTERS = 200

/** A line of JSON, as long as a row can show. Long text is cut before it is written, since a field may hold a megabyte. */
export function payloadText(payload: unknown): string {
  const text = JSON.stringify(payload, (_, value: unknown) =>
    typeof value === 'string' ? value.slice(0, PREVIEW_CHARACTERS) : value,
  )
  return text.length <= PREVIEW_CHARACTERS
    ? text
    : `${text.slice(0, PREVIEW_CHARACTERS).replace(/[\uD800-\uDBFF]$/, '')}…`
}
