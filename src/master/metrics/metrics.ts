/**
 * @module master/metrics/metrics
 * `GET /metrics`: the specification's table, from a snapshot of the store, and the counters that the parts of the
 * master keep in the registry of this process. While the store is away the master still says that it is up.
 */
import { WORKER_STATES } from '../../protocol/index.ts'
import type { MasterDeps, Part } from '../deps.ts'
import { route } from '../http/route.ts'
import { gauge, type Sample } from './exposition.ts'
import { fleetSnapshots, type FleetSnapshot, type TypeNumbers, type WorkerNumbers } from './fleet-snapshot.ts'
import { overviewRoute } from './overview.ts'

export interface MetricsOptions {
  readonly deps: MasterDeps
  /** The scheme of the backend's URL, such as `filedb`. */
  readonly backendScheme: string
}

export function createMetrics({ deps, backendScheme }: MetricsOptions): Part {
  const snapshot = fleetSnapshots(deps)
  return {
    routes: [
      overviewRoute(snapshot),
      route({
        method: 'GET',
        path: '/metrics',
        access: 'none',
        summary: 'Metrics in the Prometheus text format.',
        media: 'text/plain',
        handle: async () => {
          const fleet = await snapshot().catch((error: unknown) => {
            deps.log.warn('the metrics are without the fleet: the store did not answer', { error })
            return null
          })
          const { ok, profile } = deps.backend.health()
          const body = [
            gauge('svc_master_up', 'Always 1 while the master responds.', [{ labels: {}, value: 1 }]),
            gauge('svc_store_info', 'The store and its durability profile.', [
              { labels: { backend: backendScheme, profile }, value: 1 },
            ]),
            gauge('svc_store_up', 'Whether the store answers.', [{ labels: {}, value: ok ? 1 : 0 }]),
            fleet === null ? '' : fleetText(fleet, deps.clock.wallMs()),
            await deps.metrics.metrics(),
          ].join('')
          return { headers: { 'content-type': deps.metrics.contentType }, body }
        },
      }),
    ],
  }
}

function fleetText({ types, pools }: FleetSnapshot, nowMs: number): string {
  const batch = types.flatMap(({ type, counts }) =>
    counts === null ? [] : [{ labels: { automation_type: type }, counts }],
  )
  return [
    gauge('svc_workers_total', 'Workers by state.', types.flatMap(byState)),
    gauge(
      'svc_worker_last_seen_age_seconds',
      "Seconds since the worker's last frame.",
      perWorker(types, ({ lastSeenMs }) => Math.max(0, nowMs - lastSeenMs) / 1_000),
    ),
    gauge(
      'svc_worker_slots',
      'Slots of the worker.',
      perWorker(types, ({ stats }) => stats?.slots),
    ),
    gauge(
      'svc_worker_cpu_pct',
      'CPU percent of the worker.',
      perWorker(types, ({ stats }) => stats?.cpuPct),
    ),
    gauge(
      'svc_worker_rss_mb',
      'Resident memory of the worker in MB.',
      perWorker(types, ({ stats }) => stats?.rssMb),
    ),
    gauge(
      'svc_stream_length',
      'Entries of the output stream.',
      types.map(({ type, streamLength }) => ({ labels: { automation_type: type }, value: streamLength })),
    ),
    gauge(
      'svc_queue_size',
      'Pending tasks, all tiers.',
      batch.map(({ labels, counts }) => ({ labels, value: counts.tiers.reduce((sum, tier) => sum + tier, 0) })),
    ),
    gauge(
      'svc_queue_dlq_length',
      'Tasks in the dead-letter queue.',
      batch.map(({ labels, counts }) => ({ labels, value: counts.dead })),
    ),
    gauge(
      'svc_pool_size',
      'Items of the pool.',
      pools.map(({ pool, size }) => ({ labels: { pool }, value: size })),
    ),
  ].join('')
}

function byState({ type, workers }: TypeNumbers): readonly Sample[] {
  const totals = new Map<string, number>(WORKER_STATES.map((state) => [state, 0]))
  for (const { state } of workers) totals.set(state, (totals.get(state) ?? 0) + 1)
  return [...totals].map(([state, value]) => ({ labels: { automation_type: type, state }, value }))
}

/** One sample a worker; none where the worker has not told the number yet. */
function* perWorker(
  types: readonly TypeNumbers[],
  numberOf: (worker: WorkerNumbers) => number | undefined,
): Iterable<Sample> {
  for (const { type, workers } of types) {
    for (const worker of workers) {
      const value = numberOf(worker)
      if (value !== undefined) yield { labels: { automation_type: type, worker_id: worker.id }, value }
    }
  }
}
