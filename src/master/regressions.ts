/** @module master/regressions  How often a worker showed that the store went back in time (G26): one counter for all parts that can notice. */
import { Counter, type Registry } from 'prom-client'

const NAME = 'svc_store_regressions_total'

export function regressionsIn(metrics: Registry): Counter {
  const known = metrics.getSingleMetric(NAME)
  if (known instanceof Counter) return known
  return new Counter({
    name: NAME,
    help: 'Config generations and leases reported by workers that the store never issued, because it lost recent changes.',
    registers: [metrics],
  })
}
