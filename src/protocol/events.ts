/**
 * @module protocol/events
 * Defines the server-sent events of `GET /api/v1/events`, which report changes (D31, D51). The data of each is one JSON
 * object of the fields that changed, named as the record names them; never a config, and nothing that a heartbeat
 * brings.
 *
 *   id: <opaque>      where to resume: `Last-Event-ID`
 *   event: <name>
 *   data: {"type":…,"worker_id":…,"ts":…, …}
 *
 * With `?batched=true`, changes of one name and type that were recorded together arrive as one event (D135):
 *
 *   event: workers.state
 *   data: {"type":…,"items":[{"type":…,"worker_id":…,"ts":…, …}, …]}
 */
import { Type, type Static } from 'typebox'
import { DepartureBody } from './departures.ts'
import { ReportedState, WORKER_STATES } from './frames.ts'
import { Nullable, Seconds } from './names.ts'
import { WorkerLabels } from './worker-labels.ts'

const Data = Type.Object
const ofType = { type: Type.String(), ts: Seconds }
const ofWorker = { type: Type.String(), worker_id: Type.String(), ts: Seconds }
const StateName = Type.Enum([...WORKER_STATES])

/** The pause of a queue (D106). `until`: when it ends without a call; null: only a resume ends it. */
export const QueuePause = Data({
  note: Nullable(Type.String()),
  actor: Type.String(),
  since: Seconds,
  until: Nullable(Seconds),
})
export type QueuePause = Static<typeof QueuePause>

/** The tasks of a type, by where they are (D48). `paused` is absent unless the queue is paused (D106). */
export const QueueTotals = Data({
  high: Type.Integer(),
  normal: Type.Integer(),
  low: Type.Integer(),
  in_flight: Type.Integer(),
  scheduled: Type.Integer(),
  dead: Type.Integer(),
  oldest_submitted_at: Nullable(Seconds),
  paused: Type.Optional(QueuePause),
})
export type QueueTotals = Static<typeof QueueTotals>

/**
 * The enrolment rule that selects a new worker (D141). `error`: why the worker got the default config instead.
 */
export const Enrolled = Data({ rule: Type.String(), error: Type.Optional(Type.String()) })
export type Enrolled = Static<typeof Enrolled>

/** The data of each event, by its name. */
export const EVENTS = {
  'worker.registered': Data({
    ...ofWorker,
    state: Type.Literal('IDLE'),
    config_gen: Type.Integer(),
    enrolment: Type.Optional(Enrolled),
    config_revision: Type.Optional(Type.String()),
    managed_by: Type.Optional(Nullable(Type.String())),
  }),
  'worker.connected': Data({
    ...ofWorker,
    connected: Type.Literal(true),
    state: Type.Optional(ReportedState),
    draining: Type.Optional(Type.Literal(false)),
    labels: Type.Optional(WorkerLabels),
  }),
  'worker.disconnected': Data({
    ...ofWorker,
    connected: Type.Literal(false),
    ended: Type.Optional(Type.Boolean()),
    departure: Type.Optional(Nullable(DepartureBody)),
  }),
  'worker.state': Data({ ...ofWorker, state: StateName, last_error: Nullable(Type.String()) }),
  'worker.config_changed': Data({
    ...ofWorker,
    config_gen: Type.Integer(),
    changed: Type.Optional(Type.Array(Type.String())),
    config_changed_at: Type.Optional(Seconds),
    config_changed_by: Type.Optional(Type.String()),
  }),
  'worker.config_applied': Data({ ...ofWorker, applied_config_gen: Nullable(Type.Integer()) }),
  'worker.draining': Data({ ...ofWorker, state: Type.Literal('DRAINING'), draining: Type.Literal(true) }),
  'worker.forgotten': Data(ofWorker),
  'worker.claimed': Data({ ...ofWorker, managed_by: Nullable(Type.String()) }),
  'queue.totals': Data({ ...ofType, queue: QueueTotals }),
  'queue.paused': Data({ ...ofType, paused: QueuePause }),
  'queue.resumed': Data({ ...ofType, actor: Type.String() }),
  'rollout.changed': Data({
    ...ofType,
    set: Type.String(),
    revision: Type.String(),
    phase: Type.String(),
    stage: Type.Integer(),
  }),
  reset: Data({ ts: Seconds }),
} as const

type EventName = keyof typeof EVENTS
/** The data of the event of this name. */
export type EventData<Name extends EventName> = Static<(typeof EVENTS)[Name]>
/** The name of an event about one worker. */
export type WorkerEventName = Extract<EventName, `worker.${string}`>
