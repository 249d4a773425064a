/** @module dashboard/tasks/task-text  Formats the place, tier and payload of a task. */
import type { TaskListBody, TaskPlace } from '../../protocol/index.ts'

/** A task as the lists of its type show it. */
export type ListedTask = TaskListBody['items'][number]

type Place = TaskPlace['place']

export const PLACES: Readonly<Record<Place, string>> = {
  pending: 'Waiting in the queue.',
  in_flight: 'Leased by a worker.',
  scheduled: 'Delayed, or failed and waiting for its retry.',
  dead: 'Failed for good, and moved to the dead letters.',
  done: 'Completed.',
  expired: 'Its time to live ended before a worker reserved it.',
  cancelled: 'Cancelled; it is not run again.',
}
const LIVE: ReadonlySet<Place> = new Set(['pending', 'in_flight', 'scheduled'])

/** Whether a task is waiting or running, so that it can be cancelled and its place will change. */
export const isLive = (place: Place): boolean => LIVE.has(place)

/** `tenant=acme, env=test`; `–` without labels. */
export const labelsText = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(', ') || '–'

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
