/**
 * @module master/regressions
 * Counts how often a worker reported something newer than the store has, which shows that the store lost changes (G26).
 * All parts that can notice this share one counter.
 */
import { Counter, type Registry } from 'prom-client'

const NAME = 'svc_store_regressions_total'

export function regressionsIn(metrics: Registry): Counter {
  const known = metrics.getSingleMetric(NAME)
  if (known instanceof Counter) return known
  return new Counter({
    name: NAME,
    help:
      'Config generations and leases reported by workers that the store never issued, ' +
      'because it lost recent changes.',
    registers: [metrics],
  })
}
