/**
 * @module worker/reserved-metrics
 * Adds the metrics of the runtime itself to the statistics of a worker (D137).
 */
import { RESERVED_METRICS } from '../protocol/index.ts'
import type { RunCounters } from './run-counters.ts'

/** The components of a worker that the metrics read. */
interface MetricSources {
  readonly runs: Pick<RunCounters, 'snapshot'>
  readonly config: { readonly appliedGen: number; readonly refusedGen: number | null }
  readonly leases: { readonly size: number }
  readonly feed: { readonly isReserving: boolean }
}

/** @returns the reserved metrics by name. A reserve that is under way counts as a held task: it may bring one. */
export function reservedMetrics({ runs, config, leases, feed }: MetricSources): Readonly<Record<string, number>> {
  return {
    ...runs.snapshot(),
    [RESERVED_METRICS.configGen]: config.appliedGen,
    [RESERVED_METRICS.tasksHeld]: leases.size + Number(feed.isReserving),
    ...(config.refusedGen !== null && { [RESERVED_METRICS.refusedConfigGen]: config.refusedGen }),
  }
}
