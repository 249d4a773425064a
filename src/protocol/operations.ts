/**
 * @module protocol/operations
 * Defines the bodies of operations: changes of many workers, or of many dead tasks, that the leading master carries out
 * at a pace, and that continue after a restart of the master or of the client.
 * @see D189
 */
import { Type, type Static } from 'typebox'
import { FieldErrorBody } from './rest.ts'
import { DeadGroupName } from './dead-groups.ts'
import { MAX_ID_PATTERNS, MAX_OPERATION_WORKERS } from './limits.ts'
import { AnyObject, Maybe, Name, Nullable, Seconds, Strict, WorkerId } from './names.ts'
import { WorkerLabels } from './worker-labels.ts'

/**
 * - `patch`: merges fields into the configs of workers, as `PATCH …/config` does.
 * - `drain`: drains workers.
 * - `replay`: replays dead tasks, of a group or of the type.
 */
export const OPERATION_KINDS = ['patch', 'drain', 'replay'] as const
/** What an operation does. */
export type OperationKind = (typeof OPERATION_KINDS)[number]
/** `stopped`: by its own rule, because of failures. */
const OPERATION_STATES = ['running', 'done', 'stopped', 'cancelled'] as const
/** How an operation stands. */
export type OperationState = (typeof OPERATION_STATES)[number]
/**
 * What became of one worker.
 *
 * - `pending`: its turn has not come. In an operation that has ended: it was not changed.
 * - `active`: it was changed, and has not confirmed it yet.
 * - `done`: it has applied the config, or has left after its drain. `offline`: changed while it was not connected.
 * - `unchanged`: nothing had to change.
 * - `conflict`: its config changed since the operation was created; it was left alone.
 * - `refused`: the config would be invalid, so nothing was written.
 * - `failed`: it refuses the config, reports an error, or does not confirm in time.
 * - `unknown`: it has no record.
 */
export const OPERATION_RESULTS = [
  'pending',
  'active',
  'done',
  'offline',
  'unchanged',
  'conflict',
  'refused',
  'failed',
  'unknown',
] as const
/** What became of one worker. */
export type OperationResult = (typeof OPERATION_RESULTS)[number]

/** What applies to a field that a request leaves out. */
export const OPERATION_DEFAULTS = {
  perSecond: 20,
  parallel: 20,
  /** How long a worker may take to apply a config. */
  waitSeconds: 60,
  /** How long a worker may take to finish its tasks and to leave after a drain. */
  drainSeconds: 3_600,
  bakeSeconds: 2,
} as const

const Count = Type.Integer({ minimum: 0 })
const Kind = Type.Enum([...OPERATION_KINDS])

/** Which workers, at the time of the request: these, or those that all given parts select. */
const targets = {
  workers: Maybe(Type.Array(WorkerId, { minItems: 1, maxItems: MAX_OPERATION_WORKERS })),
  id_patterns: Maybe(Type.Array(WorkerId, { maxItems: MAX_ID_PATTERNS })),
  match_labels: Maybe(WorkerLabels),
}
const what = {
  kind: Kind,
  ...targets,
  patch: Maybe(AnyObject),
  group: Maybe(DeadGroupName),
  before: Maybe(Seconds),
}

/** The body that previews an operation. */
export const OperationPreviewBody = Strict(what)
export type OperationPreviewBody = Static<typeof OperationPreviewBody>

/**
 * The body that creates an operation. `patch`: of kind patch, the fields to merge. `group` and `before`: of kind
 * replay, the group of dead tasks (all groups if omitted), and the deaths up to this moment.
 *
 * `per_second`: workers or tasks that begin in a second. `parallel`: workers that may be active at a time.
 * `wait_seconds`: a worker that has not confirmed after this time has failed. `bake_seconds`: a worker is done if it
 * has no error for this time after it applied the config. `stop_after`: the operation stops when this many workers have
 * failed. `stop_share`: it stops when this share of at least 10 workers has failed. `expected`: the request is refused
 * if another number of workers would change.
 */
export const OperationBody = Strict({
  ...what,
  note: Maybe(Name),
  per_second: Maybe(Type.Number({ minimum: 0.1, maximum: 1_000 })),
  parallel: Maybe(Type.Integer({ minimum: 1, maximum: 500 })),
  wait_seconds: Maybe(Type.Number({ minimum: 1, maximum: 86_400 })),
  bake_seconds: Maybe(Type.Number({ minimum: 0, maximum: 3_600 })),
  stop_after: Maybe(Type.Integer({ minimum: 1, maximum: MAX_OPERATION_WORKERS })),
  stop_share: Maybe(Type.Number({ exclusiveMinimum: 0, maximum: 1 })),
  expected: Maybe(Count),
})
export type OperationBody = Static<typeof OperationBody>

/**
 * What an operation would do. `change`: the workers or tasks that it would change. `offline`: how many of them are not
 * connected. `generations` and `values`: the present generations, and the present values of the patched fields with
 * masked secrets, of the workers that would change; at most 20 each, the most frequent first. `managed`: who manages
 * them, with the number of workers. `refused_because`: at most 20 reasons.
 */
export const OperationPreview = Type.Object({
  kind: Kind,
  total: Count,
  change: Count,
  unchanged: Count,
  refused: Count,
  unknown: Count,
  offline: Count,
  generations: Type.Array(Type.Object({ config_gen: Count, workers: Count })),
  values: Type.Array(Type.Object({ values: AnyObject, workers: Count })),
  managed: Type.Array(Type.Object({ managed_by: Type.String(), workers: Count })),
  refused_because: Type.Array(
    Type.Object({ detail: Type.Union([Type.String(), Type.Array(FieldErrorBody)]), workers: Count }),
  ),
})
export type OperationPreview = Static<typeof OperationPreview>

/** Numbers of workers, or of tasks, by result. */
const Counts = Type.Object({
  pending: Count,
  active: Count,
  done: Count,
  offline: Count,
  unchanged: Count,
  conflict: Count,
  refused: Count,
  failed: Count,
  unknown: Count,
})
/** Numbers of workers, or of tasks, by result. */
export type OperationCounts = Static<typeof Counts>

/**
 * One operation. `patch` has masked secrets; null for an undo, whose values differ by worker. `fields`: the fields that
 * it patches. `reason`: why it stopped or was cancelled. `can_undo`: it has changed configs, has ended, and was not
 * undone. `failures`: at most 20; the results have all.
 */
export const OperationShown = Type.Object({
  operation: Type.String(),
  type: Type.String(),
  kind: Kind,
  state: Type.Enum([...OPERATION_STATES]),
  reason: Nullable(Type.String()),
  note: Nullable(Type.String()),
  created_at: Seconds,
  created_by: Type.String(),
  ended_at: Nullable(Seconds),
  total: Count,
  counts: Counts,
  patch: Nullable(AnyObject),
  fields: Type.Array(Type.String()),
  group: Nullable(Type.String()),
  before: Nullable(Seconds),
  per_second: Type.Number(),
  parallel: Type.Integer(),
  wait_seconds: Type.Number(),
  bake_seconds: Type.Number(),
  stop_after: Nullable(Type.Integer()),
  stop_share: Nullable(Type.Number()),
  failures: Type.Array(Type.Object({ worker_id: Type.String(), message: Type.String() })),
  undo_of: Nullable(Type.String()),
  undone_by: Nullable(Type.String()),
  can_undo: Type.Boolean(),
})
export type OperationShown = Static<typeof OperationShown>
/** Operations, newest first. */
export const OperationsBody = Type.Object({ operations: Type.Array(OperationShown) })
export type OperationsBody = Static<typeof OperationsBody>

/** What became of one worker. `config_gen`: the generation that the operation wrote. */
export const OperationResultBody = Type.Object({
  worker_id: Type.String(),
  result: Type.Enum([...OPERATION_RESULTS]),
  config_gen_before: Type.Integer(),
  config_gen: Nullable(Type.Integer()),
  message: Nullable(Type.String()),
})
export type OperationResultBody = Static<typeof OperationResultBody>
/** The workers of an operation, in its order. */
export const OperationResultsBody = Type.Object({ results: Type.Array(OperationResultBody) })
export type OperationResultsBody = Static<typeof OperationResultsBody>
/** The query of the results. `ndjson`: one result a line. */
export const OperationResultsQuery = Strict({
  format: Type.Optional(Type.Enum(['json', 'ndjson', 'csv'], { default: 'json' })),
})
export type OperationResultsQuery = Static<typeof OperationResultsQuery>
