/**
 * @module protocol/load
 * Defines the load of a type: what an autoscaler needs to choose the number of workers (D139).
 */
import { Type, type Static } from 'typebox'
import { MAX_TARGET_WAIT_SECONDS } from './limits.ts'
import { Nullable, Seconds, Strict } from './names.ts'

/** The query. `slots_per_worker`: if left out, the mean of the workers that run. */
export const LoadQuery = Strict({
  target_wait_seconds: Type.Optional(Type.Number({ minimum: 0.1, maximum: MAX_TARGET_WAIT_SECONDS })),
  slots_per_worker: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
})
export type LoadQuery = Static<typeof LoadQuery>

/**
 * The load. Rates are those of the last `window_seconds`. They are null, and no scale-in is advised, until the master
 * has sampled for a minute; `mean_run_seconds` is also null if no run ended meanwhile.
 */
export const LoadBody = Type.Object({
  ts: Seconds,
  window_seconds: Type.Number(),
  pending: Type.Integer(),
  in_flight: Type.Integer(),
  scheduled_due: Type.Integer(),
  backlog: Type.Integer(),
  oldest_wait_seconds: Type.Number(),
  arrivals_per_second: Nullable(Type.Number()),
  completions_per_second: Nullable(Type.Number()),
  mean_run_seconds: Nullable(Type.Number()),
  slots: Type.Integer(),
  workers: Type.Integer(),
  wanted_slots: Type.Integer(),
  wanted_workers: Type.Integer(),
})
export type LoadBody = Static<typeof LoadBody>
