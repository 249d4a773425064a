/**
 * @module dashboard/tasks/task-filter
 * Defines which tasks the tab "All tasks" lists, and reads them page by page (D116).
 */
import type { TaskListBody } from '../../protocol/index.ts'
import type { Query } from '../api/client.ts'
import type { ListedTask } from './task-text.ts'

/** The filter, as it is in the address. Empty fields do not filter. */
export interface TaskFilter {
  readonly place: ListedTask['place'] | ''
  /** Labels `key=value` or `key:value`, separated by commas. A task must have all of them. */
  readonly label: string
  /** Occurs in the ID or the JSON of a task. */
  readonly q: string
}

/** A row of the list. */
export type TaskRow = ListedTask & { readonly id: string }

/** The first tasks that match. */
export interface TaskRows {
  readonly items: readonly TaskRow[]
  readonly examined: number
  /** Whether there may be more. */
  readonly hasMore: boolean
}

/** The states of stored tasks, in the order of the list. */
export const PLACE_NAMES: Readonly<Record<ListedTask['place'], string>> = {
  pending: 'pending',
  in_flight: 'in flight',
  scheduled: 'scheduled',
  dead: 'dead',
}

const PAGE = 1_000
/** The limit of the API. */
const MAX_LABELS = 16
/** A filter that matches few tasks would otherwise read the whole queue. */
const EXAMINED_PER_TASK = 250

/** The query of a filter; fields that do not filter are absent. */
export function queryOf(filter: TaskFilter): Query {
  const { place, q } = filter
  const label = labelsOf(filter.label)
  return { ...(place !== '' && { place }), ...(label.length > 0 && { label }), ...(q !== '' && { text: q }) }
}

/**
 * Splits the labels of a filter, and returns them in the form of the API, `key:value`. A comma separates two labels
 * only before a key, because a value may contain commas: `a=1, b=x, y` is `a:1` and `b:x, y`.
 */
export const labelsOf = (text: string): readonly string[] =>
  text
    .trim()
    .replace(/[\s,]+$/, '')
    .split(/\s*,\s*(?=[a-z0-9][a-z0-9_.-]*[=:])/)
    .filter((label) => label !== '')
    .map((label) => label.replace(/^([^=:]+)[=:]/, '$1:'))

/** The labels of a filter as they are shown: `a=1, b=x`. */
export const shownLabels = (text: string): string =>
  labelsOf(text)
    .map((label) => label.replace(':', '='))
    .join(', ')

/** Why labels cannot be a filter; null if they can. */
export function labelFault(text: string): string | null {
  const labels = labelsOf(text)
  if (labels.length > MAX_LABELS) return `At most ${MAX_LABELS} labels are possible.`
  return labels.every((label) => /^[^:=]+:/.test(label)) ? null : 'Write labels as key=value, separated by commas.'
}

/**
 * Reads the first `n` tasks that match, and each task once, even if it moves meanwhile.
 *
 * @param n At most this many; it examines at most 250 tasks for each.
 * @param read Reads one page.
 */
export async function readRows(
  n: number,
  read: (query: Readonly<Record<string, string | number>>) => Promise<TaskListBody>,
): Promise<TaskRows> {
  const rows = new Map<string, TaskRow>()
  let examined = 0
  let cursor: string | null = null
  do {
    const limit = Math.min(PAGE, n - rows.size)
    const body: TaskListBody = await read({ limit, ...(cursor !== null && { cursor }) })
    for (const item of body.items) rows.set(item.task_id, { ...item, id: item.task_id })
    examined += body.examined
    cursor = body.cursor
  } while (cursor !== null && rows.size < n && examined < n * EXAMINED_PER_TASK)
  return { items: [...rows.values()], examined, hasMore: cursor !== null }
}
