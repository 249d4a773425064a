/**
 * @module protocol/task-groups
 * Defines how a type declares the groups of its tasks, and how they are shown.
 * @see D119
 */
import { Type, type Static } from 'typebox'
import { MAX_GROUP_RATE_SECONDS, MAX_GROUP_TASKS } from './limits.ts'
import { Nullable, Seconds, Strict } from './names.ts'

/** A number of tasks of one group. */
export const GroupTasks = Type.Integer({ minimum: 1, maximum: MAX_GROUP_TASKS })
/** The time in which that many tasks of one group may start. */
export const GroupRateSeconds = Type.Number({ exclusiveMinimum: 0, maximum: MAX_GROUP_RATE_SECONDS })
/** The groups of a type, as a manifest declares them and the catalog shows them. The default of `burst` is `tasks`. */
export const GroupsFields = Strict({
  max_in_flight: Type.Optional(GroupTasks),
  rate: Type.Optional(Strict({ tasks: GroupTasks, per_seconds: GroupRateSeconds, burst: Type.Optional(GroupTasks) })),
})
export type GroupsFields = Static<typeof GroupsFields>

/** A group that has a pending task or a lease. `next_start_at`: when its rate permits the next start, if it waits. */
export const GroupBody = Type.Object({
  group_key: Nullable(Type.String()),
  pending: Type.Integer(),
  in_flight: Type.Integer(),
  next_start_at: Type.Optional(Seconds),
})
export type GroupBody = Static<typeof GroupBody>
