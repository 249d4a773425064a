/**
 * @module protocol/task-state
 * Defines the bodies that show what became of tasks, and those that wait for it (D29, D110, D111, D114, D115, D116).
 */
import { Type, type Static } from 'typebox'
import { MAX_TASKS_PER_BATCH } from './limits.ts'
import { Maybe, Name, Nullable, Seconds, Strict, WaitSeconds } from './names.ts'

const stored = [
  Type.Literal('pending'),
  Type.Literal('in_flight'),
  Type.Literal('scheduled'),
  Type.Literal('dead'),
] as const
/** The places of stored tasks. */
export const STORED_PLACES = ['pending', 'in_flight', 'scheduled', 'dead'] as const
/** Where a task is that is stored. */
export const StoredPlace = Type.Union([...stored])
const Place = Type.Union([...stored, Type.Literal('done'), Type.Literal('expired'), Type.Literal('cancelled')])
/** A failed run or a lost lease of a task (D115). */
export const FailedAttempt = Type.Object({
  /** Failed runs of the task, this one included. */
  attempt: Type.Integer(),
  at: Seconds,
  kind: Type.Union([Type.Literal('failed'), Type.Literal('lease_lost')]),
  /** At most 256 characters; null for a lost lease. */
  error: Nullable(Type.String()),
  worker_id: Type.String(),
})
export type FailedAttempt = Static<typeof FailedAttempt>
const taskState = {
  /** Failed runs. */
  attempt: Type.Optional(Type.Integer()),
  /** The last error of a dead task. */
  error: Type.Optional(Nullable(Type.String())),
  worker_id: Type.Optional(Nullable(Type.String())),
  /** Who cancelled the task (D117). */
  actor: Type.Optional(Type.String()),
  finished_at: Type.Optional(Seconds),
  retained_until: Type.Optional(Seconds),
  result: Type.Optional(Type.Unknown()),
  result_omitted: Type.Optional(Type.Literal('too_large')),
  /** The newest five, oldest first (D115). */
  attempts: Type.Optional(Type.Array(FailedAttempt)),
  /** What a run of the task reported last, and when (D114). Not of a finished task. */
  progress: Type.Optional(Type.Unknown()),
  progress_at: Type.Optional(Seconds),
}
const placedTask = { task_id: Type.String(), place: Place, ...taskState }
/** Where a task is (D29). Other fields than the place, `group_key`, `attempts` and `progress` are those of a
 * finished task (D110). */
export const TaskPlace = Type.Object({
  ...placedTask,
  /** Of a task that has not finished, of a type with groups (D119). */
  group_key: Type.Optional(Name),
})
export type TaskPlace = Static<typeof TaskPlace>
/** A task that was found by its id alone (D116). */
export const FoundTask = Type.Object({ automation_type: Type.String(), ...placedTask })
export type FoundTask = Static<typeof FoundTask>
/** The query of the state of a task (D111). */
export const WaitQuery = Strict({ wait_seconds: Type.Optional(WaitSeconds) })
/** The body that waits for tasks (D111). */
export const AwaitBody = Strict({
  task_ids: Type.Array(Name, { minItems: 1, maxItems: MAX_TASKS_PER_BATCH }),
  wait_seconds: Maybe(WaitSeconds),
})
export type AwaitBody = Static<typeof AwaitBody>
/** The states of the awaited tasks, in order; it ends early at 32 MiB. `place` is null for an unknown task (D111). */
export const AwaitedBody = Type.Object({
  results: Type.Array(Type.Object({ task_id: Type.String(), place: Nullable(Place), ...taskState })),
})
export type AwaitedBody = Static<typeof AwaitedBody>
