/**
 * @module protocol/dead-groups
 * Defines the bodies of the groups of dead tasks, and of replays and removals by group (D157, D158, D159).
 */
import { Type, type Static } from 'typebox'
import { DEFAULT_N } from './limits.ts'
import { AnyObject, Maybe, Nullable, Seconds, Strict } from './names.ts'
import { DeadItem } from './rest.ts'

/** Maximum number of tasks that one request replays or removes. */
export const MAX_DEAD_PER_REQUEST = 10_000

const GROUP_PATTERN = '^[0-9a-f]{16}$'
/** The name of a group of dead tasks. */
export const DeadGroupName = Type.String({ pattern: GROUP_PATTERN })
const ReplayDelaySeconds = Type.Number({ minimum: 0, maximum: 31_536_000 })

/** The dead tasks of one type whose errors have the same pattern. */
export const DeadGroupBody = Type.Object({
  group: DeadGroupName,
  /** The error with its variable parts replaced, such as `ENOTFOUND <host>`; null for the group of all other errors. */
  pattern: Nullable(Type.String()),
  count: Type.Integer(),
  first_died_at: Seconds,
  last_died_at: Seconds,
  /** Deaths in each of the last twelve intervals of 5 minutes, the current one last. */
  trend: Type.Array(Type.Integer()),
  /** The workers of the newest deaths, at most 3. */
  workers: Type.Array(Type.String()),
  /** The newest death. Its error has at most 1,024 characters. */
  example: Type.Object({ task_id: Type.String(), error: Type.String() }),
})
export type DeadGroupBody = Static<typeof DeadGroupBody>
/**
 * The groups, newest death first. `as_of`: all of these tasks died before; null without groups. `complete`: no dead
 * task is missing. It is false while the tasks of an earlier release are put into groups.
 */
export const DeadGroupsBody = Type.Object({
  complete: Type.Boolean(),
  as_of: Nullable(Seconds),
  groups: Type.Array(DeadGroupBody),
})
export type DeadGroupsBody = Static<typeof DeadGroupsBody>

/** The query of the newest dead tasks. `group`: all tasks if omitted. `cursor`: that of the page before. */
export const NewestDeadQuery = Strict({
  n: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, default: DEFAULT_N.dead })),
  group: Type.Optional(DeadGroupName),
  cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
})
export type NewestDeadQuery = Static<typeof NewestDeadQuery>
/** Dead tasks, newest death first. `cursor` is null behind the last page. */
export const NewestDeadBody = Type.Object({ items: Type.Array(DeadItem), cursor: Nullable(Type.String()) })
export type NewestDeadBody = Static<typeof NewestDeadBody>

/**
 * The body that replays a group. `before`: tasks that died then or later stay dead. `per_second`: this many tasks a
 * second become due; all are pending immediately if it is omitted. `delay_seconds`: when the first of them is due.
 */
export const ReplayGroupBody = Strict({
  before: Seconds,
  per_second: Maybe(Type.Number({ minimum: 0.01, maximum: 10_000 })),
  delay_seconds: Maybe(ReplayDelaySeconds),
})
/**
 * What was replayed. `more`: repeat the request, with this `delay_seconds` if the replay is paced: then the first task
 * of the next request is due.
 */
export const ReplayedGroupBody = Type.Object({
  replayed: Type.Integer(),
  more: Type.Boolean(),
  delay_seconds: Type.Number(),
})
export type ReplayedGroupBody = Static<typeof ReplayedGroupBody>
/** The body that removes a group, as that of a replay. */
export const RemoveGroupBody = Strict({ before: Seconds })
/** How many were removed. `more`: repeat the request. */
export const RemovedGroupBody = Type.Object({ removed: Type.Integer(), more: Type.Boolean() })
export type RemovedGroupBody = Static<typeof RemovedGroupBody>

/** The body that replays a dead task with another payload. `died_at`: the death that the caller has seen. */
export const ReplayEditedBody = Strict({ died_at: Seconds, payload: AnyObject })
/** `not_dead`: the task is not dead, or died again since then. */
export const ReplayedEditedBody = Type.Object({
  task_id: Type.String(),
  outcome: Type.Union([Type.Literal('replayed'), Type.Literal('not_dead')]),
})
export type ReplayedEditedBody = Static<typeof ReplayedEditedBody>

/**
 * What became of the tasks of a replay (D180). `group`, `before` and `pattern` are null unless it was one of a group.
 * `operation`: the id of the operation that replays them (D194), if there is one. `replayed` minus `done` minus `died`
 * are waiting, running, cancelled, removed or expired.
 */
export const ReplayResult = Type.Object({
  id: Type.String(),
  group: Nullable(Type.String()),
  before: Nullable(Seconds),
  pattern: Nullable(Type.String()),
  operation: Type.Optional(Type.String()),
  started_at: Seconds,
  replayed: Type.Integer(),
  done: Type.Integer(),
  died: Type.Integer(),
})
export type ReplayResult = Static<typeof ReplayResult>
/** The newest replays of a type, newest first. */
export const ReplaysBody = Type.Object({ replays: Type.Array(ReplayResult) })
export type ReplaysBody = Static<typeof ReplaysBody>
