/**
 * @module protocol/worker-columns
 * Defines workers as columns (D161): an array for each field, with one value for each worker, in the same order. A
 * column compresses to a fifth of the same values in records. Times are ages in whole seconds before `ts`.
 */
import { Type, type Static } from 'typebox'
import { DEPARTURE_KINDS } from './departures.ts'
import { WORKER_STATES } from './frames.ts'
import { AnyObject, N, Name, Nullable, Strict } from './names.ts'
import { WorkerLabels } from './worker-labels.ts'

const Count = Type.Integer({ minimum: 0 })
const Age = Type.Integer({ minimum: 0, description: 'whole seconds before `ts`' })
const Cursor = Type.String({ minLength: 1, maxLength: 256 })
/** `ts`: unix seconds, a whole number. */
const WholeSeconds = Type.Integer({ description: 'unix seconds' })

/** The newest statistics of workers: null for a worker that has sent none. Shares are rounded to a tenth. */
const STATS_COLUMNS = {
  slots: Type.Array(Nullable(Count)),
  cpu_pct: Type.Array(Nullable(Type.Number())),
  rss_mb: Type.Array(Nullable(Type.Number())),
  stats_age: Type.Array(Nullable(Age)),
}

/** The fields of the summary view (D47) as columns. `config` has its base fields, `last_error` 800 characters. */
export const WorkerColumns = Type.Object({
  worker_id: Type.Array(Type.String()),
  state: Type.Array(Type.Enum([...WORKER_STATES])),
  connected: Type.Array(Type.Boolean()),
  ended: Type.Array(Type.Boolean()),
  draining: Type.Array(Type.Boolean()),
  departure: Type.Optional(Type.Array(Nullable(Type.Enum([...DEPARTURE_KINDS])))),
  seen_age: Type.Array(Age),
  state_age: Type.Array(Age),
  registered_age: Type.Array(Age),
  last_error: Type.Array(Nullable(Type.String())),
  config_gen: Type.Array(Count),
  applied_config_gen: Type.Array(Nullable(Count)),
  refused_config_gen: Type.Array(Nullable(Count)),
  config_changed_age: Type.Array(Nullable(Age)),
  config_changed_by: Type.Array(Nullable(Type.String())),
  config_revision: Type.Array(Nullable(Type.String())),
  managed_by: Type.Array(Nullable(Type.String())),
  tasks_held: Type.Array(Nullable(Count)),
  hostname: Type.Array(Type.String()),
  labels: Type.Array(WorkerLabels),
  config: Type.Array(AnyObject),
  ...STATS_COLUMNS,
})
export type WorkerColumns = Static<typeof WorkerColumns>

/** Only what a heartbeat brings. */
export const HeartbeatColumns = Type.Object({
  worker_id: Type.Array(Type.String()),
  seen_age: Type.Array(Age),
  ...STATS_COLUMNS,
})
export type HeartbeatColumns = Static<typeof HeartbeatColumns>

/** The query of the list in columns. `after`: only ids behind this one. */
export const WorkerColumnsQuery = Strict({
  after: Type.Optional(Name),
  limit: Type.Optional(Type.Integer({ ...N, maximum: 1_000, default: 1_000 })),
})
export type WorkerColumnsQuery = Static<typeof WorkerColumnsQuery>

/**
 * A page of the workers of a type, ordered by id. `next`: the `after` of the next page; null behind the last one.
 * `cursor`: the `since` of {@link WorkerChangesQuery}, for all that changes after this page was read.
 */
export const WorkerColumnsBody = Type.Object({
  ts: WholeSeconds,
  cursor: Type.String(),
  next: Nullable(Type.String()),
  workers: WorkerColumns,
})
export type WorkerColumnsBody = Static<typeof WorkerColumnsBody>

/** `stats_after`: returns statistics as well, of the workers behind this one; empty for the first ones. */
export const WorkerChangesQuery = Strict({
  since: Cursor,
  stats_after: Type.Optional(Type.String({ maxLength: 512 })),
})
export type WorkerChangesQuery = Static<typeof WorkerChangesQuery>

/**
 * The workers that changed, by automation type. `is_reset`: changes may be missing, so the lists have to be read again.
 * `has_more`: further changes can be read immediately, with the `cursor`.
 */
export const WorkerChangesBody = Type.Object({
  ts: WholeSeconds,
  cursor: Type.String(),
  is_reset: Type.Boolean(),
  has_more: Type.Boolean(),
  changed: Type.Record(Type.String(), WorkerColumns),
  /** Ids of workers that were forgotten. */
  removed: Type.Record(Type.String(), Type.Array(Type.String())),
  /** Up to 5 s old. `after`: the next `stats_after`. */
  stats: Type.Optional(
    Type.Object({
      ts: WholeSeconds,
      after: Type.String(),
      workers: Type.Record(Type.String(), HeartbeatColumns),
    }),
  ),
})
export type WorkerChangesBody = Static<typeof WorkerChangesBody>

/**
 * The workers of each type in groups of equal ones, each group as one of its workers and its size in `count`. Workers
 * with a problem are listed by themselves.
 */
export const WorkerGroupsBody = Type.Object({
  ts: WholeSeconds,
  automations: Type.Record(Type.String(), Type.Object({ ...WorkerColumns.properties, count: Type.Array(Count) })),
})
export type WorkerGroupsBody = Static<typeof WorkerGroupsBody>
