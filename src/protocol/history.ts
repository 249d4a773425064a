/**
 * @module protocol/history
 * Defines the history of queues: counts, gauges and latencies of an automation type by steps of time (D166).
 */
import { Type, type Static } from 'typebox'
import { MAX_HISTORY_SECONDS, MAX_HISTORY_STEP_SECONDS } from './limits.ts'
import { Nullable, Seconds, Strict } from './names.ts'

/** The last second that a date of JavaScript has. */
const MAX_UNIX_SECONDS = 8_640_000_000_000

/** The query. Times are unix seconds; steps begin at multiples of `step`, in seconds. */
export const QueueHistoryQuery = Strict({
  /** By `to` and `seconds` if left out. */
  from: Type.Optional(Type.Number({ minimum: 0, maximum: MAX_UNIX_SECONDS })),
  /** By `from` and `seconds` if left out, otherwise now. */
  to: Type.Optional(Type.Number({ minimum: 0, maximum: MAX_UNIX_SECONDS })),
  /** Length of the range, for a query without `from` or `to`; one hour if left out, without `from`. */
  seconds: Type.Optional(Type.Integer({ minimum: 60, maximum: MAX_HISTORY_SECONDS })),
  /** If left out, the shortest that is kept and gives at most 360 steps. */
  step: Type.Optional(Type.Integer({ minimum: 15, maximum: MAX_HISTORY_STEP_SECONDS, multipleOf: 15 })),
})
export type QueueHistoryQuery = Static<typeof QueueHistoryQuery>

/** Times of tasks in seconds, from buckets whose middles are at most 12.2 % off. */
const LatencyBody = Type.Object({
  /** Number of measured tasks, 1 or more. */
  count: Type.Integer(),
  p50: Type.Number(),
  p95: Type.Number(),
  p99: Type.Number(),
})
/** Percentiles of wait or run times, in seconds. */
export type LatencyBody = Static<typeof LatencyBody>

const flows = {
  /** What the counts cover, to the last sample of this step from the last one before. null if they are not known. */
  seconds: Nullable(Type.Number()),
  submitted: Nullable(Type.Integer()),
  done: Nullable(Type.Integer()),
  failed: Nullable(Type.Integer()),
  died: Nullable(Type.Integer()),
}
const FleetHistoryStep = Type.Object({ ts: Seconds, ...flows, waiting: Nullable(Type.Integer()) })
/** One step of a history with all types. */
export type FleetHistoryStep = Static<typeof FleetHistoryStep>

/** One step, which begins at `ts`. Gauges are the largest values of its samples; null without a sample. */
export const QueueHistoryStep = Type.Object({
  ts: Seconds,
  ...flows,
  cancelled: Nullable(Type.Integer()),
  waiting: Nullable(Type.Integer()),
  high: Nullable(Type.Integer()),
  normal: Nullable(Type.Integer()),
  low: Nullable(Type.Integer()),
  in_flight: Nullable(Type.Integer()),
  scheduled: Nullable(Type.Integer()),
  dead: Nullable(Type.Integer()),
  /** Age of the oldest waiting task; 0 if none waited. */
  oldest_seconds: Nullable(Type.Number()),
  /** From when a task was due until its first lease; null if none was leased. */
  wait: Nullable(LatencyBody),
  /** From a lease until the run was done or failed; null if none ended. */
  run: Nullable(LatencyBody),
})
export type QueueHistoryStep = Static<typeof QueueHistoryStep>

const range = { from: Seconds, to: Seconds, step: Type.Integer() }
/** The history of a type. `from` and `to` are aligned to steps; a step without any data is left out. */
export const QueueHistoryBody = Type.Object({ ...range, steps: Type.Array(QueueHistoryStep) })
export type QueueHistoryBody = Static<typeof QueueHistoryBody>

/** The history of all batch automations that the token covers, by type. */
export const FleetHistoryBody = Type.Object({
  ...range,
  automations: Type.Record(Type.String(), Type.Array(FleetHistoryStep)),
})
export type FleetHistoryBody = Static<typeof FleetHistoryBody>
