/**
 * @module protocol/runs
 * Defines what the runs of a type did in the last minute (D151): of the whole type, and of those workers that failed
 * most.
 */
import { Type, type Static } from 'typebox'
import { Name, Nullable, Seconds, Strict } from './names.ts'

/** The query. With `worker_id`, `workers` has this worker alone. */
export const RunsQuery = Strict({ worker_id: Type.Optional(Name) })
export type RunsQuery = Static<typeof RunsQuery>

const RunCounts = {
  /** Runs that ended ok. */
  done: Type.Integer(),
  failed: Type.Integer(),
  /** Of the failed runs: those after which the task was dead. null for a worker that does not count them. */
  died: Nullable(Type.Integer()),
}

/** The runs of one worker, its error and its last config change. */
export const WorkerRuns = Type.Object({
  worker_id: Type.String(),
  ...RunCounts,
  /** What the counts cover, up to 75 s. */
  window_seconds: Type.Number(),
  config_gen: Type.Integer(),
  /** Runs that began under the applied config and have ended. */
  config_done: Type.Integer(),
  config_failed: Type.Integer(),
  config_changed_at: Nullable(Seconds),
  config_changed_by: Nullable(Type.String()),
  /** Names of the fields that the last change set; empty if they are not known any more. */
  config_changed: Type.Array(Type.String()),
  /** Of the record, at most 512 characters. */
  last_error: Nullable(Type.String()),
  /** Failed runs under the applied config with the error of the newest one; null if the worker does not count them. */
  last_error_runs: Nullable(Type.Integer()),
})
export type WorkerRuns = Static<typeof WorkerRuns>

/**
 * The runs. The counts of the type are those of `window_seconds`, from all masters. They are null while the master has
 * sampled less than two times, and for a continuous automation.
 */
export const RunsBody = Type.Object({
  ts: Seconds,
  window_seconds: Type.Number(),
  done: Nullable(Type.Integer()),
  failed: Nullable(Type.Integer()),
  died: Nullable(Type.Integer()),
  /** At most 10, those with the most failed runs first. */
  workers: Type.Array(WorkerRuns),
})
export type RunsBody = Static<typeof RunsBody>
