/**
 * @module operator/fleet/metrics
 * Exports metrics of the calls to the master. No label contains a worker's name.
 * @see D58
 */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { OpenReason } from './breaker.ts'

const MS_PER_SECOND = 1_000
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export interface FleetMetrics {
  /** `code`: the HTTP status, or why there was none. */
  readonly onRequest: (method: string, code: string, tookMs: number) => void
  readonly onBreaker: (reason: OpenReason | null) => void
  readonly onFeedReset: () => void
  readonly onStateReset: () => void
}

export function createFleetMetrics(registry: Registry): FleetMetrics {
  const registers = [registry]
  const requests = new Histogram({
    name: 'svc_operator_master_request_seconds',
    help: 'Calls to the master, by method and status, or by the reason why there was no response.',
    labelNames: ['method', 'code'],
    registers,
    buckets: BUCKETS,
  })
  const breaker = new Gauge({
    name: 'svc_operator_breaker_state',
    help: '1 for the current state of the circuit breaker for the master, 0 for the others.',
    labelNames: ['state'],
    registers,
  })
  const resets = new Counter({
    name: 'svc_operator_feed_resets_total',
    help: 'Number of times that events of the master were lost, so that everything was listed again.',
    registers,
  })
  const stateResets = new Counter({
    name: 'svc_operator_master_state_resets_total',
    help: "Number of times that the master's store was replaced, or was restored to an earlier state.",
    registers,
  })
  const onBreaker = (reason: OpenReason | null): void => {
    for (const state of ['closed', 'MasterUnreachable', 'Unauthorized'])
      breaker.set({ state }, state === (reason ?? 'closed') ? 1 : 0)
  }
  onBreaker(null)
  return {
    onRequest: (method, code, tookMs) => requests.observe({ method, code }, tookMs / MS_PER_SECOND),
    onBreaker,
    onFeedReset: () => resets.inc(),
    onStateReset: () => stateResets.inc(),
  }
}
