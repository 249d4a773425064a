/**
 * @module protocol/reserved-metrics
 * Names the metrics that the runtime of a worker adds to its statistics (D137). They say what runs did under the
 * applied config, so that two configs can be compared. Plugins may not use names that begin with `muster.`.
 *
 *   counter.muster.runs_ok|runs_failed|runs_released     runs of a batch automation, by their end
 *   counter.muster.run_ms_le.<i>                         runs that ended ok or failed, by their duration
 *   counter.muster.runs_died                             failed runs after which their task was dead (D151)
 *   counter.muster.last_error_runs                       failed runs with the error of the newest one (D151)
 *   counter.muster.slot_failures                         slots that could not start; continuous runs that threw
 *   gauge.muster.config_gen                              the generation that the counters belong to
 *   gauge.muster.tasks_held                              leases, plus 1 while a reserve is under way
 *   gauge.muster.refused_config_gen                      the newest generation, while the worker refuses it
 *
 * Counters include only runs that began under the applied config, and restart at 0 with each config. One that is 0 is
 * left out. Statistics are free-form in the specification, so a worker may send none of these.
 */

/** The beginning of the names, behind `counter.` or `gauge.`. */
export const RESERVED_PREFIX = 'muster.'
/** The reserved metrics with one value each. */
export const RESERVED_METRICS = {
  runsOk: 'counter.muster.runs_ok',
  runsFailed: 'counter.muster.runs_failed',
  runsReleased: 'counter.muster.runs_released',
  runsDied: 'counter.muster.runs_died',
  lastErrorRuns: 'counter.muster.last_error_runs',
  slotFailures: 'counter.muster.slot_failures',
  configGen: 'gauge.muster.config_gen',
  tasksHeld: 'gauge.muster.tasks_held',
  refusedConfigGen: 'gauge.muster.refused_config_gen',
} as const

/** The number of buckets of `run_ms_le`. */
export const RUN_MS_BUCKETS = 88
const BUCKETS_PER_DOUBLING = 4

/** The beginning of the names of the buckets. */
export const RUN_MS_PREFIX = 'counter.muster.run_ms_le.'
/** The names of the buckets, by index. */
export const RUN_MS_NAMES: readonly string[] = Array.from(
  { length: RUN_MS_BUCKETS },
  (_, index) => `${RUN_MS_PREFIX}${index}`,
)

/**
 * Selects the bucket of a duration. Bucket `i` has the runs of at most 2^(i/4) ms that fit into no bucket before it;
 * the last one, of 59 minutes, has all longer runs too. So a quantile is known within a factor of 2^(1/4), or 19 %.
 *
 * @param ms The duration in milliseconds, 0 or more.
 * @returns the index of the bucket.
 */
export function runMsBucket(ms: number): number {
  if (ms <= 1) return 0
  return Math.min(Math.ceil(BUCKETS_PER_DOUBLING * Math.log2(ms)), RUN_MS_BUCKETS - 1)
}
