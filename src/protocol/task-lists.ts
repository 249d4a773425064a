/**
 * @module protocol/task-lists
 * Defines the query and the pages of a list of tasks (D116).
 */
import { Type, type Static } from 'typebox'
import { MAX_LABELS_PER_TASK, MAX_NAME_CHARS, TASK_PAGE } from './limits.ts'
import { Name, Nullable, Seconds, Strict } from './names.ts'
import { QueueItem } from './rest.ts'
import { STORED_PLACES, StoredPlace } from './task-state.ts'

/**
 * The query of a list of tasks (D116). `label` is `key:value` and may be repeated. `worker_id`: only tasks that this
 * worker has in flight (D197).
 */
export const TaskListQuery = Strict({
  place: Type.Optional(Type.Enum([...STORED_PLACES])), // An enum has one fault that names all values.
  label: Type.Optional(Type.Array(Type.String(), { maxItems: MAX_LABELS_PER_TASK })),
  text: Type.Optional(Type.String({ minLength: 1, maxLength: MAX_NAME_CHARS })),
  worker_id: Type.Optional(Name),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: TASK_PAGE.maxLimit, default: TASK_PAGE.limit })),
  cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
})
export type TaskListQuery = Static<typeof TaskListQuery>
const { id: _id, ...listedItem } = QueueItem.properties
/** A task of a list, with its place (D116). */
const ListedTask = Type.Object({
  task_id: Type.String(),
  place: StoredPlace,
  /** Of a task in flight. */
  worker_id: Type.Optional(Type.String()),
  lease_expires_at: Type.Optional(Seconds),
  /** Of a scheduled task. */
  due_at: Type.Optional(Seconds),
  /** Of a dead task. */
  error: Type.Optional(Nullable(Type.String())),
  finished_at: Type.Optional(Seconds),
  ...listedItem,
})
/** One page of a list of tasks (D116). `cursor` is null behind the last page; `examined` counts the tasks it read. */
export const TaskListBody = Type.Object({
  items: Type.Array(ListedTask),
  cursor: Nullable(Type.String()),
  examined: Type.Integer(),
})
export type TaskListBody = Static<typeof TaskListBody>
