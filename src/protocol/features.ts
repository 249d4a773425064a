/**
 * @module protocol/features
 * Defines what masters and workers of two adjacent releases agree on before they use it (D120).
 *
 *   worker ── Muster-Version, Muster-Features ──▶ master                  in the upgrade of the control channel
 *   worker ◀── Muster-Version, Muster-Features, Muster-Epoch ── master    in its response
 *
 * The response names the features of all live masters, because an rpc may reach another master than the socket, and the
 * features of the socket that the accepting master implements.
 */

/**
 * - `stream`: rpc requests that accept lines, and `tasks.reserve` with `stream` (D125).
 * - `result`: `tasks.ack` with `result` (D110).
 * - `progress`: `tasks.extend` with `progress` (D114).
 * - `cancel`: the frame `task_cancelled`, which ends the run of a task whose lease a cancel has ended (D117).
 * - `epoch`: a worker whose config is of `Muster-Epoch` need not poll it when it connects.
 * - `labels`: the field `labels` of `register` (D136).
 * - `logs`: the frames `read_logs` and `logs` (D181).
 * - `holder`: `pool.claim` with `slot_id` and `task_id` (D186).
 * - `output_task`: outputs with `task_id` (D188).
 * - `slot_tasks`: entries of `per_slot` with `task_id` and `task_seconds` (D196).
 */
export const FEATURES = [
  'stream',
  'result',
  'progress',
  'cancel',
  'epoch',
  'labels',
  'logs',
  'holder',
  'output_task',
  'slot_tasks',
] as const
/** The name of a feature. */
export type Feature = (typeof FEATURES)[number]
/**
 * The features that concern only the socket. A master offers them whatever the other live masters implement: a worker
 * that connects during an upgrade would otherwise not send its labels, and could not show its log, before it connects
 * again.
 */
export const SOCKET_FEATURES: ReadonlySet<Feature> = new Set<Feature>(['labels', 'logs', 'output_task', 'slot_tasks'])

/** The fields of a task that a producer may use only while every live master knows them. */
export const ADDED_TASK_FIELDS = [
  'delay_seconds',
  'not_before',
  'idempotency_ttl_seconds',
  'retain_seconds',
  'labels',
  'retry',
  'traceparent',
  'tracestate',
  'unique_key',
  'group_key',
] as const
/** The calls that are accepted only while every live master knows them. */
export const ADDED_CALLS = ['cancel', 'pause', 'logs', 'operations'] as const
/**
 * What masters write for each other only while every live master reads it. `batches`: several events in one entry of
 * the log, and several signals in one message (D135). `rollups`: the leader alone samples the queues (D166).
 */
export const ADDED_FORMATS = ['batches', 'rollups'] as const
/** The name of an added field, call or format. */
export type Addition =
  (typeof ADDED_TASK_FIELDS)[number] | (typeof ADDED_CALLS)[number] | (typeof ADDED_FORMATS)[number]

/** The headers of the upgrade and of its response, in lower case. */
export const FEATURE_HEADERS = {
  version: 'muster-version',
  features: 'muster-features',
  epoch: 'muster-epoch',
} as const

/** The media type of rpc responses in lines. */
export const LINES_TYPE = 'application/x-ndjson'

/**
 * Reads a `Muster-Features` header: `stream, epoch`.
 * @param header Its value; undefined or a list means no feature.
 * @returns the features that this release knows.
 */
export function featuresIn(header: string | readonly string[] | undefined): ReadonlySet<Feature> {
  const names = (typeof header === 'string' ? header : '').split(',').map((name) => name.trim())
  return new Set(FEATURES.filter((feature) => names.includes(feature)))
}
