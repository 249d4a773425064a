/** @module dashboard/tasks/task-text  Formats the place, tier and payload of a task. */
import type { TaskListBody, TaskPlace } from '../../protocol/index.ts'
import type { Tier } from './tier-history.ts'

/** A task as the lists of its type show it. */
export type ListedTask = TaskListBody['items'][number]

type Place = TaskPlace['place']

export const PLACES: Readonly<Record<Place, string>> = {
  pending: 'Waiting in the queue.',
  in_flight: 'Leased by a worker.',
  scheduled: 'Delayed, or failed and waiting for its retry.',
  dead: 'Out of attempts.',
  done: 'Completed.',
  expired: 'Its time to live ended before a worker reserved it.',
  cancelled: 'Cancelled; it is not run again.',
}
const LIVE: ReadonlySet<Place> = new Set(['pending', 'in_flight', 'scheduled'])

/** Whether a task is waiting or running, so that it can be cancelled and its place will change. */
export const isLive = (place: Place): boolean => LIVE.has(place)

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
