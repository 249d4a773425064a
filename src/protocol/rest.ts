/**
 * @module protocol/rest
 * Defines every body of the REST API under /api/v1 as a schema: of requests and of responses.
 * Requests are strict; responses may gain fields. Keys are the wire's snake_case.
 */
import { Type, type Static } from 'typebox'
import { QueueTotals } from './events.ts'
import { Hardware, Stats, WORKER_STATES } from './frames.ts'
import { DEFAULT_N, MAX_TASKS_PER_BATCH, QUEUE_SAMPLES } from './limits.ts'
import { PERMISSIONS } from './permissions.ts'
import {
  AnyObject,
  ManagedBy,
  MaxAttempts,
  Maybe,
  N,
  Name,
  Nullable,
  Priority,
  Seconds,
  Strict,
  TtlSeconds,
} from './names.ts'

const Schema = AnyObject
const Kind = Type.Union([Type.Literal('ContinuousAutomation'), Type.Literal('BatchAutomation')])
const StateName = Type.Enum([...WORKER_STATES])
const Answer = Type.Object

// Errors
export const FieldErrorBody = Answer({
  path: Type.String(),
  message: Type.String(),
  keyword: Type.String(),
  params: AnyObject,
})
export const RefusalBody = Strict({ detail: Type.String() })
export const InvalidBody = Strict({ detail: Type.Array(FieldErrorBody, { minItems: 1 }) })
/** The response of a dry run (D49). `changed`: top-level fields, of a config that is valid. */
export const ValidatedBody = Answer({
  valid: Type.Boolean(),
  errors: Type.Array(FieldErrorBody),
  changed: Type.Optional(Type.Array(Type.String())),
})
export type ValidatedBody = Static<typeof ValidatedBody>

// Discovery and catalog
export const AutomationDescriptor = Answer({
  type: Type.String(),
  class: Type.String(),
  kind: Kind,
  config_schema: Schema,
})
export type AutomationDescriptor = Static<typeof AutomationDescriptor>
export const CatalogEntryBody = Answer({
  type: Type.String(),
  kind: Kind,
  config: Schema,
  queue: Type.Optional(Answer({ name: Type.String(), payload: Schema })),
  stream: Type.Optional(Answer({ name: Type.String(), payload: Schema })),
  pools: Type.Optional(Type.Record(Type.String(), Answer({ payload: Schema, tags: Schema }))),
})
export type CatalogEntryBody = Static<typeof CatalogEntryBody>

// Workers
export const WorkerBody = Answer({
  worker_id: Type.String(),
  automation_type: Type.String(),
  hardware: Hardware,
  config: AnyObject,
  config_gen: Type.Integer(),
  state: StateName,
  last_seen: Seconds,
  last_error: Nullable(Type.String()),
  current_stats: Nullable(Stats),
  connected: Type.Boolean(),
  registered_at: Seconds,
  applied_config_gen: Nullable(Type.Integer()),
  draining: Type.Boolean(),
  managed_by: Nullable(Type.String()),
  state_since: Seconds,
  config_changed_at: Nullable(Seconds),
  config_changed_by: Nullable(Type.String()),
})
export type WorkerBody = Static<typeof WorkerBody>
// With `view=summary`.
export const StatsSummary = Type.Omit(Stats, ['metrics', 'per_slot'], { additionalProperties: false })
export const WorkerSummary = Answer({
  ...WorkerBody.properties,
  hardware: Strict({ hostname: Type.String() }),
  current_stats: Nullable(StatsSummary),
})
export const WorkerInView = Type.Union([WorkerBody, WorkerSummary])
export const WorkersQuery = Strict({
  state: Type.Optional(StateName),
  connected: Type.Optional(Type.Boolean()),
  limit: Type.Optional(N),
  after: Type.Optional(Name),
  view: Type.Optional(Type.Literal('summary')),
})
export const ConfigBody = Answer({ config: AnyObject, config_gen: Type.Integer() })
export type ConfigBody = Static<typeof ConfigBody>
export const HistoryBody = Type.Array(
  Answer({
    config_gen: Type.Integer(),
    ts: Seconds,
    actor: Type.String(),
    changed: Type.Array(Type.String()),
    config: AnyObject,
  }),
)
export type HistoryBody = Static<typeof HistoryBody>
/** The body of PUT claim (D51). */
export const ClaimBody = Strict({ managed_by: ManagedBy })
export type ClaimBody = Static<typeof ClaimBody>
export const ClaimQuery = Strict({ force: Type.Optional(Type.Boolean()) })
export const StatsQuery = Strict({
  since: Type.Optional(Type.Number({ minimum: 0, default: 0 })),
  limit: Type.Optional(Type.Integer({ ...N, default: DEFAULT_N.stats })),
  view: Type.Optional(Type.Literal('summary')),
})
export const DrainBody = Answer({ worker_id: Type.String(), drain: Type.Literal('requested') })
export type DrainBody = Static<typeof DrainBody>
export const RemovedBody = Answer({ worker_id: Type.String(), removed: Type.Boolean() })
export type RemovedBody = Static<typeof RemovedBody>

// Output streams
export const OutputEntry = Answer({ id: Type.String(), slot_id: Type.Integer(), ts: Seconds, payload: AnyObject })
export type OutputEntry = Static<typeof OutputEntry>
export const LengthBody = Answer({ length: Type.Integer() })
export type LengthBody = Static<typeof LengthBody>
export const TailBody = Answer({ entries: Type.Array(OutputEntry), gap: Type.Boolean() })
export type TailBody = Static<typeof TailBody>
/** `?n=` with a default of its own for each inspection (D9). */
export const nQuery = (fallback: number) => Strict({ n: Type.Optional(Type.Integer({ ...N, default: fallback })) })
/** The body of an act on up to `n` items. */
export const NBody = Strict({ n: Maybe(N) })

// Tasks
const taskFields = {
  payload: AnyObject,
  task_id: Maybe(Name),
  priority: Maybe(Priority),
  ttl_seconds: Maybe(TtlSeconds),
  max_attempts: Maybe(MaxAttempts),
  idempotency_key: Maybe(Name),
}
export const TaskBody = Strict(taskFields)
export type TaskBody = Static<typeof TaskBody>
/** Its items are checked one by one, since each is answered by itself. */
export const TaskBatchBody = Strict({
  tasks: Type.Array(Type.Unknown(), { minItems: 1, maxItems: MAX_TASKS_PER_BATCH }),
})
export const TaskBatch = Strict({ tasks: Type.Array(TaskBody, { minItems: 1, maxItems: MAX_TASKS_PER_BATCH }) })
export const SubmitResult = Type.Union([
  Answer({ task_id: Type.String(), queued: Type.Literal(true), priority: Type.Integer() }),
  Answer({ task_id: Type.String(), queued: Type.Literal(false), duplicate: Type.Literal(true) }),
])
export type SubmitResult = Static<typeof SubmitResult>
export const BatchResult = Type.Union([
  SubmitResult,
  Answer({
    error: Answer({ status: Type.Integer(), detail: Type.Union([Type.String(), Type.Array(FieldErrorBody)]) }),
  }),
])
export const BatchResults = Answer({ results: Type.Array(BatchResult) })
export type BatchResults = Static<typeof BatchResults>
export const TaskPlace = Answer({
  task_id: Type.String(),
  place: Type.Union([
    Type.Literal('pending'),
    Type.Literal('in_flight'),
    Type.Literal('scheduled'),
    Type.Literal('dead'),
  ]),
})
export type TaskPlace = Static<typeof TaskPlace>
const queueItem = {
  id: Type.String(),
  payload: AnyObject,
  attempt: Type.Integer(),
  submitted_at: Seconds,
  priority: Type.Integer(),
}
export const QueueItem = Answer(queueItem)
export const QueueBody = Answer({ length: Type.Integer(), items: Type.Array(QueueItem) })
export type QueueBody = Static<typeof QueueBody>
export const DeadItem = Answer({
  ...queueItem,
  max_attempts: Type.Integer(),
  last_error: Nullable(Type.String()),
  died_at: Seconds,
})
export const DeadBody = Answer({ length: Type.Integer(), items: Type.Array(DeadItem) })
export type DeadBody = Static<typeof DeadBody>
export const ReplayedBody = Answer({ replayed: Type.Integer() })
export type ReplayedBody = Static<typeof ReplayedBody>
export const ClearedBody = Answer({ cleared: Type.Integer() })
export type ClearedBody = Static<typeof ClearedBody>
export const SelectBody = Strict({
  action: Type.Union([Type.Literal('replay'), Type.Literal('remove')]),
  task_ids: Type.Array(Name, { minItems: 1, maxItems: MAX_TASKS_PER_BATCH }),
})
export const SelectedBody = Answer({
  results: Type.Array(
    Answer({
      task_id: Type.String(),
      outcome: Type.Union([Type.Literal('replayed'), Type.Literal('removed'), Type.Literal('not_dead')]),
    }),
  ),
})
export type SelectedBody = Static<typeof SelectedBody>

// Totals (D48)
const queueCounts = {
  high: Type.Integer(),
  normal: Type.Integer(),
  low: Type.Integer(),
  in_flight: Type.Integer(),
  scheduled: Type.Integer(),
  dead: Type.Integer(),
}
export const QueueCountsBody = Answer(queueCounts)
export type QueueCountsBody = Static<typeof QueueCountsBody>
export const QueueStatsQuery = Strict({
  since: Type.Optional(Type.Number({ minimum: 0, default: 0 })),
  limit: Type.Optional(Type.Integer({ ...N, default: QUEUE_SAMPLES })),
})
/** The last four are running totals. */
export const QueueSample = Answer({
  ts: Seconds,
  ...queueCounts,
  submitted: Type.Integer(),
  acked: Type.Integer(),
  nacked: Type.Integer(),
  died: Type.Integer(),
})
export type QueueSample = Static<typeof QueueSample>
export const OverviewBody = Answer({
  ts: Seconds,
  automations: Type.Record(
    Type.String(),
    Answer({
      kind: Kind,
      workers: Answer({
        total: Type.Integer(),
        connected: Type.Integer(),
        behind: Type.Integer(),
        IDLE: Type.Integer(),
        RUNNING: Type.Integer(),
        ERROR: Type.Integer(),
        DRAINING: Type.Integer(),
      }),
      slots: Type.Integer(),
      queue: Nullable(QueueTotals),
      stream: Answer({ length: Type.Integer() }),
    }),
  ),
})
export type OverviewBody = Static<typeof OverviewBody>

// Pools
export const PoolItem = Answer({
  id: Type.String(),
  tags: AnyObject,
  payload: AnyObject,
  expires_at: Nullable(Seconds),
  in_use_until: Nullable(Seconds),
})
export const PoolBody = Answer({ size: Type.Integer(), items: Type.Array(PoolItem) })
export type PoolBody = Static<typeof PoolBody>

// Health and identity
export const HealthBody = Answer({ status: Type.String() })
export const ReadyBody = Answer({
  status: Type.String(),
  parts: Type.Record(Type.String(), Type.Boolean()),
  warnings: Type.Optional(Type.Array(Type.String())),
})
export type ReadyBody = Static<typeof ReadyBody>
export const MeBody = Answer({
  role: Type.Union([Type.Literal('admin'), Type.Literal('scoped'), Type.Literal('worker')]),
  automations: Type.Array(Type.String()),
  version: Type.String(),
  epoch: Type.String(),
  backend: Answer({ scheme: Type.String(), durable: Type.Boolean(), shared: Type.Boolean(), pubsub: Type.Boolean() }),
  limits: Answer({ submit_rps_per_token: Type.Number(), max_body_bytes: Type.Integer() }),
  permissions: Type.Array(Type.Enum([...PERMISSIONS])),
  name: Nullable(Type.String()),
})
export type MeBody = Static<typeof MeBody>
