/**
 * @module protocol/rest
 * Defines every body of the REST API under /api/v1 as a schema: of requests and of responses.
 * Requests are strict; responses may gain fields. Keys are the wire's snake_case.
 */
import { Type, type Static } from 'typebox'
import { EnvironmentBody } from './environment.ts'
import { DepartureBody } from './departures.ts'
import { QueuePause, QueueTotals } from './events.ts'
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
  DelaySeconds,
  IdempotencyTtlSeconds,
  NotBefore,
  PauseSeconds,
  RetainSeconds,
  TtlSeconds,
} from './names.ts'
import { OverviewRollout } from './rollouts.ts'
import { GroupBody, GroupsFields } from './task-groups.ts'
import { FailedAttempt } from './task-state.ts'
import { Labels, OnConflict, RetryFields, taskExtras, TraceParent, TraceState, UniqueUntil } from './task-extras.ts'
import { WorkerLabels } from './worker-labels.ts'

const Schema = AnyObject
const Kind = Type.Union([Type.Literal('ContinuousAutomation'), Type.Literal('BatchAutomation')])
const StateName = Type.Enum([...WORKER_STATES])
const ResponseObject = Type.Object

// Errors
/** One fault of a value (D14). */
export const FieldErrorBody = ResponseObject({
  path: Type.String(),
  message: Type.String(),
  keyword: Type.String(),
  params: AnyObject,
})
const SentCode = Type.Optional(Type.Literal('UPGRADING'))
/** The body of every error but 422. `code`: of UPGRADING alone (D130). */
export const ErrorBody = Strict({ detail: Type.String(), code: SentCode })
/** The body of 422: every fault. */
export const InvalidBody = Strict({ detail: Type.Array(FieldErrorBody, { minItems: 1 }) })
/** The response of a dry run (D49). `changed`: top-level fields, of a config that is valid. */
export const ValidatedBody = ResponseObject({
  valid: Type.Boolean(),
  errors: Type.Array(FieldErrorBody),
  changed: Type.Optional(Type.Array(Type.String())),
})
export type ValidatedBody = Static<typeof ValidatedBody>

// Discovery and catalog
/** An installed automation, in the list of automations. */
export const AutomationDescriptor = ResponseObject({
  type: Type.String(),
  class: Type.String(),
  kind: Kind,
  config_schema: Schema,
})
export type AutomationDescriptor = Static<typeof AutomationDescriptor>
/** The schemas of an automation. */
export const CatalogEntryBody = ResponseObject({
  type: Type.String(),
  kind: Kind,
  config: Schema,
  queue: Type.Optional(
    ResponseObject({
      name: Type.String(),
      payload: Schema,
      result: Type.Optional(Schema),
      retain_seconds: Type.Optional(Type.Number()),
      groups: Type.Optional(GroupsFields),
    }),
  ),
  stream: Type.Optional(ResponseObject({ name: Type.String(), payload: Schema })),
  pools: Type.Optional(Type.Record(Type.String(), ResponseObject({ payload: Schema, tags: Schema }))),
})
export type CatalogEntryBody = Static<typeof CatalogEntryBody>

// Workers
/** A worker record. */
export const WorkerBody = ResponseObject({
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
  labels: Type.Optional(WorkerLabels),
  tasks_held: Type.Optional(Nullable(Type.Integer())),
  refused_config_gen: Type.Optional(Nullable(Type.Integer())),
  config_revision: Type.Optional(Nullable(Type.String())),
  ended: Type.Optional(Type.Boolean()),
  /** Of a drain that is set (D195); null also if an earlier release recorded it. */
  drain_requested_at: Type.Optional(Nullable(Seconds)),
  drain_requested_by: Type.Optional(Nullable(Type.String())),
  departure: Type.Optional(Nullable(DepartureBody)),
})
export type WorkerBody = Static<typeof WorkerBody>
/** The Stats object with `view=summary` (D47). */
export const StatsSummary = Type.Omit(Stats, ['metrics', 'per_slot'], { additionalProperties: false })
/** A worker record with `view=summary` (D47). */
export const WorkerSummary = ResponseObject({
  ...WorkerBody.properties,
  hardware: Strict({ hostname: Type.String() }),
  current_stats: Nullable(StatsSummary),
})
export type WorkerSummary = Static<typeof WorkerSummary>
/** A worker record in either view. */
export const WorkerInView = Type.Union([WorkerBody, WorkerSummary])
/** The query of the list of workers (D40). */
export const WorkersQuery = Strict({
  state: Type.Optional(StateName),
  connected: Type.Optional(Type.Boolean()),
  limit: Type.Optional(N),
  after: Type.Optional(Name),
  view: Type.Optional(Type.Literal('summary')),
})
/** A config and its generation. */
export const ConfigBody = ResponseObject({ config: AnyObject, config_gen: Type.Integer() })
export type ConfigBody = Static<typeof ConfigBody>
/** The body of PUT claim (D51). */
export const ClaimBody = Strict({ managed_by: ManagedBy })
export type ClaimBody = Static<typeof ClaimBody>
/** The query of the event stream. `batched`: see D135. `workers`: false leaves out the events of workers (D162). */
export const EventsQuery = Strict({ batched: Type.Optional(Type.Boolean()), workers: Type.Optional(Type.Boolean()) })

/** The query of PUT and DELETE claim. `force`: also replace or delete the claim of another manager (D66). */
export const ClaimQuery = Strict({ force: Type.Optional(Type.Boolean()) })
/** The query of the statistics of a worker. `since` is in unix seconds. */
export const StatsQuery = Strict({
  since: Type.Optional(Type.Number({ minimum: 0, default: 0 })),
  limit: Type.Optional(Type.Integer({ ...N, default: DEFAULT_N.stats })),
  view: Type.Optional(Type.Literal('summary')),
})
/** The response of a drain. */
export const DrainBody = ResponseObject({ worker_id: Type.String(), drain: Type.Literal('requested') })
export type DrainBody = Static<typeof DrainBody>
/** The response of the deletion of a worker. */
export const RemovedBody = ResponseObject({ worker_id: Type.String(), removed: Type.Boolean() })
export type RemovedBody = Static<typeof RemovedBody>

// Output streams
/** One entry of an output stream. */
export const OutputEntry = ResponseObject({
  id: Type.String(),
  slot_id: Type.Integer(),
  ts: Seconds,
  worker_id: Type.Optional(Type.String()),
  task_id: Type.Optional(Type.String()),
  payload: AnyObject,
})
export type OutputEntry = Static<typeof OutputEntry>
/** The number of entries of an output stream. */
export const LengthBody = ResponseObject({ length: Type.Integer() })
export type LengthBody = Static<typeof LengthBody>
/** The newest entries of an output stream. `gap`: entries before them were removed unread (D50). */
export const TailBody = ResponseObject({ entries: Type.Array(OutputEntry), gap: Type.Boolean() })
export type TailBody = Static<typeof TailBody>
/**
 * Creates the query `?n=` of an inspection (D9).
 * @param fallback The number of items if `n` is omitted.
 */
export const nQuery = (fallback: number) => Strict({ n: Type.Optional(Type.Integer({ ...N, default: fallback })) })
/** The body of a request that pops or replays up to `n` items. */
export const NBody = Strict({ n: Maybe(N) })

// Tasks
const taskFields = {
  payload: AnyObject,
  task_id: Maybe(Name),
  priority: Maybe(Priority),
  ttl_seconds: Maybe(TtlSeconds),
  delay_seconds: Maybe(DelaySeconds),
  not_before: Maybe(NotBefore),
  max_attempts: Maybe(MaxAttempts),
  idempotency_key: Maybe(Name),
  idempotency_ttl_seconds: Maybe(IdempotencyTtlSeconds),
  labels: Maybe(Labels),
  retry: Maybe(RetryFields),
  traceparent: Maybe(TraceParent),
  tracestate: Maybe(TraceState),
  retain_seconds: Maybe(RetainSeconds),
  unique_key: Maybe(Name),
  unique_until: Maybe(UniqueUntil),
  on_conflict: Maybe(OnConflict),
  group_key: Maybe(Name),
}
/** A task as a client submits it. */
export const TaskBody = Strict(taskFields)
export type TaskBody = Static<typeof TaskBody>
/** The body of a batch submit as the master checks it: its tasks are checked one by one, each with its own result. */
export const TaskBatchBody = Strict({
  tasks: Type.Array(Type.Unknown(), { minItems: 1, maxItems: MAX_TASKS_PER_BATCH }),
})
/** The body of a batch submit as the OpenAPI document shows it (D38). */
export const TaskBatch = Strict({ tasks: Type.Array(TaskBody, { minItems: 1, maxItems: MAX_TASKS_PER_BATCH }) })
/** The result of one submit: queued, or a duplicate. `replaced`: the id of the task that it replaced (D118). */
export const SubmitResult = Type.Union([
  ResponseObject({
    task_id: Type.String(),
    queued: Type.Literal(true),
    priority: Type.Integer(),
    replaced: Type.Optional(Type.String()),
  }),
  ResponseObject({ task_id: Type.String(), queued: Type.Literal(false), duplicate: Type.Literal(true) }),
])
export type SubmitResult = Static<typeof SubmitResult>
/** The result of one task of a batch submit. */
export const BatchResult = Type.Union([
  SubmitResult,
  ResponseObject({
    error: ResponseObject({
      status: Type.Integer(),
      detail: Type.Union([Type.String(), Type.Array(FieldErrorBody)]),
      code: SentCode,
    }),
  }),
])
/** The results of a batch submit, in the order of its tasks. */
export const BatchResults = ResponseObject({ results: Type.Array(BatchResult) })
export type BatchResults = Static<typeof BatchResults>
const queueItem = {
  id: Type.String(),
  payload: AnyObject,
  attempt: Type.Integer(),
  submitted_at: Seconds,
  priority: Type.Integer(),
  not_before: Type.Optional(Seconds),
  ...taskExtras,
  retain_seconds: Type.Optional(Type.Number()),
}
/** A pending task. */
export const QueueItem = ResponseObject(queueItem)
/**
 * The length of a queue and its first tasks. `paused` is absent unless the queue is paused (D106). `groups` is absent
 * unless the type has groups: those with the most pending tasks (D119).
 */
export const QueueBody = ResponseObject({
  length: Type.Integer(),
  paused: Type.Optional(QueuePause),
  groups: Type.Optional(Type.Array(GroupBody)),
  items: Type.Array(QueueItem),
})
export type QueueBody = Static<typeof QueueBody>
/** The body that pauses a queue (D106): at most one of `until` and `seconds`; without both, until it is resumed. */
export const PauseBody = Strict({ note: Maybe(Name), until: Maybe(NotBefore), seconds: Maybe(PauseSeconds) })
export type PauseBody = Static<typeof PauseBody>
/** Whether a queue is paused. */
export const PausedBody = ResponseObject({ paused: Nullable(QueuePause) })
export type PausedBody = Static<typeof PausedBody>
/** A dead task. */
export const DeadItem = ResponseObject({
  ...queueItem,
  max_attempts: Type.Integer(),
  last_error: Nullable(Type.String()),
  died_at: Seconds,
  /** The newest five, oldest first (D115). */
  attempts: Type.Optional(Type.Array(FailedAttempt)),
})
/** The length of a dead-letter queue and its oldest tasks. */
export const DeadBody = ResponseObject({ length: Type.Integer(), items: Type.Array(DeadItem) })
export type DeadBody = Static<typeof DeadBody>
/** How many dead tasks were replayed. */
export const ReplayedBody = ResponseObject({ replayed: Type.Integer() })
export type ReplayedBody = Static<typeof ReplayedBody>
/** How many dead tasks were removed. */
export const ClearedBody = ResponseObject({ cleared: Type.Integer() })
export type ClearedBody = Static<typeof ClearedBody>
/** The body that replays or removes dead tasks by id (D50). */
export const SelectBody = Strict({
  action: Type.Union([Type.Literal('replay'), Type.Literal('remove')]),
  task_ids: Type.Array(Name, { minItems: 1, maxItems: MAX_TASKS_PER_BATCH }),
})
/** What happened to each selected task, in the order of the ids. */
export const SelectedBody = ResponseObject({
  results: Type.Array(
    ResponseObject({
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
/** The tasks of a type, counted by where they are. */
export const QueueCountsBody = ResponseObject(queueCounts)
export type QueueCountsBody = Static<typeof QueueCountsBody>
/** The query of the statistics of a queue. `since` is in unix seconds. */
export const QueueStatsQuery = Strict({
  since: Type.Optional(Type.Number({ minimum: 0, default: 0 })),
  limit: Type.Optional(Type.Integer({ ...N, default: QUEUE_SAMPLES })),
})
/** One sample of the statistics of a queue. The last fields are running totals; `cancelled` is absent while it is 0. */
export const QueueSample = ResponseObject({
  ts: Seconds,
  ...queueCounts,
  submitted: Type.Integer(),
  acked: Type.Integer(),
  nacked: Type.Integer(),
  died: Type.Integer(),
  cancelled: Type.Optional(Type.Integer()),
})
export type QueueSample = Static<typeof QueueSample>
/** Counts of workers, tasks and outputs by automation type. */
export const OverviewBody = ResponseObject({
  ts: Seconds,
  automations: Type.Record(
    Type.String(),
    ResponseObject({
      kind: Kind,
      workers: ResponseObject({
        total: Type.Integer(),
        connected: Type.Integer(),
        behind: Type.Integer(),
        IDLE: Type.Integer(),
        RUNNING: Type.Integer(),
        ERROR: Type.Integer(),
        DRAINING: Type.Integer(),
        /** Of those in ERROR. The states also count workers that are not connected. */
        connected_in_error: Type.Optional(Type.Integer()),
      }),
      slots: Type.Integer(),
      queue: Nullable(QueueTotals),
      stream: ResponseObject({ length: Type.Integer() }),
      rollouts: Type.Optional(Type.Array(OverviewRollout)),
    }),
  ),
})
export type OverviewBody = Static<typeof OverviewBody>

// Health and identity
/** The response of `/healthz`. */
export const HealthBody = ResponseObject({ status: Type.String() })
/** The response of `/readyz`. `parts`: whether each part of the master is ready. */
export const ReadyBody = ResponseObject({
  status: Type.String(),
  parts: Type.Record(Type.String(), Type.Boolean()),
  warnings: Type.Optional(Type.Array(Type.String())),
})
export type ReadyBody = Static<typeof ReadyBody>
/** What the token of the request may do, and what the master is. `environment`: missing if the master has no name. */
export const MeBody = ResponseObject({
  role: Type.Union([Type.Literal('admin'), Type.Literal('scoped'), Type.Literal('worker'), Type.Literal('scaler')]),
  automations: Type.Array(Type.String()),
  version: Type.String(),
  epoch: Type.String(),
  backend: ResponseObject({
    scheme: Type.String(),
    durable: Type.Boolean(),
    shared: Type.Boolean(),
    pubsub: Type.Boolean(),
  }),
  limits: ResponseObject({ submit_rps_per_token: Type.Number(), max_body_bytes: Type.Integer() }),
  permissions: Type.Array(Type.Enum([...PERMISSIONS])),
  name: Nullable(Type.String()),
  /** Patterns of worker ids, of a token that is limited to some workers. */
  workers: Type.Optional(Type.Array(Type.String())),
  /** Unix seconds, of a token that expires. */
  expires_at: Type.Optional(Type.Number()),
  /** The name of the issuer in SVC_JWT_ISSUERS, of a JWT. */
  issuer: Type.Optional(Type.String()),
  features: Type.Optional(Type.Array(Type.String())),
  environment: Type.Optional(EnvironmentBody),
  masters: Type.Optional(
    Type.Array(ResponseObject({ version: Nullable(Type.String()), layout: Nullable(Type.Integer()) })),
  ),
})
export type MeBody = Static<typeof MeBody>
