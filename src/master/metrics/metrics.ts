/**
 * @module master/metrics/metrics
 * Serves `GET /metrics`: the specified metrics from a snapshot of the store, and the counters of this process. While
 * the store is unavailable, `svc_master_up` is still served.
 *
 * Several masters on one store export each series of the fleet once, so that sums over masters are correct. The leader
 * exports the numbers of types, of pools and of disconnected workers. The numbers of a connected worker are exported by
 * the master that it is connected to (D93, D134).
 */
import { WORKER_STATES } from '../../protocol/index.ts'
import type { Counts, GroupTotals } from '../../storage/index.ts'
import { serveProbes, type ProbeListener, type Probes, type ProbeResult } from '../../runtime/index.ts'
import type { MasterDeps, Part } from '../deps.ts'
import type { MasterMembership } from '../master-membership.ts'
import { route } from '../http/index.ts'
import { gauge, type Sample } from './exposition.ts'
import type { FleetSnapshot, TypeNumbers, WorkerNumbers } from './fleet-snapshot.ts'
import { overviewRoute, slotsOf } from './overview.ts'
import { sharedText } from './shared-text.ts'

export interface MetricsDeps extends MasterDeps {
  readonly snapshot: () => Promise<FleetSnapshot>
  /** The slots that a type needs; undefined if this is not known. */
  readonly wantedSlots: (type: TypeNumbers) => number | undefined
  readonly masters: Pick<MasterMembership, 'isLeader'>
  /** The scheme of the backend's URL, such as `filedb`. */
  readonly backendScheme: string
  /** A separate address for `/metrics`. By default the address of the API serves it. */
  readonly listen?: Address | undefined
  /** Whether the master can serve, for `/readyz` on the separate address. */
  readonly isReady: () => boolean
}
interface Address {
  readonly host: string
  readonly port: number
}

export function createMetrics(deps: MetricsDeps): Part {
  const { masters, backendScheme, listen, isReady, snapshot, wantedSlots } = deps
  const text = sharedText(deps.clock, async () => {
    const fleet = await snapshot().catch((error: unknown) => {
      deps.log.warn('the store did not respond; fleet series are missing from /metrics', { error })
      return null
    })
    const { ok, profile } = deps.backend.health()
    return [
      gauge('svc_master_up', 'Always 1 while the master responds.', [{ labels: {}, value: 1 }]),
      gauge('svc_store_info', 'The store and its durability profile.', [
        { labels: { backend: backendScheme, profile }, value: 1 },
      ]),
      gauge('svc_store_up', 'Whether the store responds.', [{ labels: {}, value: ok ? 1 : 0 }]),
      fleet === null
        ? ''
        : fleetText(shareOf(fleet, deps.masterId, masters.isLeader()), deps.clock.wallMs(), wantedSlots),
      await deps.metrics.metrics(),
    ].join('')
  })
  const { contentType } = deps.metrics
  const metricsRoute = route({
    method: 'GET',
    path: '/metrics',
    access: 'none',
    needs: null,
    summary: 'Metrics in the Prometheus text format.',
    media: 'text/plain',
    handle: async () => ({ headers: { 'content-type': contentType }, body: await text() }),
  })
  if (listen === undefined) return { routes: [overviewRoute(snapshot), metricsRoute] }
  return {
    routes: [overviewRoute(snapshot)],
    ...metricsListener(listen, { isReady, metrics: { contentType, metrics: text } }),
  }
}

/** Serves `/metrics` on a separate address, so that scrapers and API clients do not share a listener (D72). */
function metricsListener(
  listen: Address,
  { isReady, metrics }: { readonly isReady: () => boolean; readonly metrics: Probes['metrics'] },
): Pick<Part, 'start' | 'stop'> {
  let listener: ProbeListener | null = null
  const resultOf = (ok: boolean): ProbeResult => ({ ok, why: ok ? 'ok' : 'not ready' })
  return {
    start: async () => {
      listener = await serveProbes('SVC_METRICS_LISTEN', listen, {
        healthz: () => resultOf(true),
        readyz: () => resultOf(isReady()),
        metrics,
      })
    },
    stop: () => listener?.close(),
  }
}

/** The part of the fleet that this master exports. */
interface Share {
  /** For the series of types and pools. Empty unless this master is the leader. */
  readonly types: readonly TypeNumbers[]
  readonly pools: FleetSnapshot['pools']
  /** For the series of workers. */
  readonly workers: readonly Pick<TypeNumbers, 'type' | 'workers'>[]
}

function shareOf({ types, pools }: FleetSnapshot, masterId: string, isLeader: boolean): Share {
  const isExportedHere = (holder: string | null): boolean => (holder === null ? isLeader : holder === masterId)
  const exportedOf = ({ type, workers }: TypeNumbers) => ({
    type,
    workers: workers.filter((worker) => isExportedHere(worker.masterId)),
  })
  return { types: isLeader ? types : [], pools: isLeader ? pools : [], workers: types.map(exportedOf) }
}

function fleetText({ types, pools, workers }: Share, nowMs: number, wantedSlots: MetricsDeps['wantedSlots']): string {
  return [
    gauge('svc_workers_total', 'Workers by state.', types.flatMap(byState)),
    gauge('svc_slots', 'Slots of the connected workers.', ofTypes(types, slotsOf)),
    gauge('svc_wanted_slots', 'Slots for a wait of SVC_LOAD_TARGET_WAIT_SECONDS.', ofTypes(types, wantedSlots)),
    ...workerGauges(workers, nowMs),
    gauge(
      'svc_stream_length',
      'Entries of the output stream.',
      ofTypes(types, ({ streamLength }) => streamLength),
    ),
    gauge(
      'svc_stream_bytes',
      'Bytes of the entries in the output stream.',
      ofTypes(types, ({ streamBytes }) => streamBytes),
    ),
    ...queueGauges(types, nowMs),
    ...groupGauges(types),
    gauge(
      'svc_pool_size',
      'Items of the pool.',
      pools.map(({ pool, size }) => ({ labels: { pool }, value: size })),
    ),
  ].join('')
}

function workerGauges(workers: Share['workers'], nowMs: number): readonly string[] {
  return [
    gauge(
      'svc_worker_last_seen_age_seconds',
      "Seconds since the worker's last frame.",
      perWorker(workers, ({ lastSeenMs }) => Math.max(0, nowMs - lastSeenMs) / 1_000),
    ),
    gauge(
      'svc_worker_slots',
      'Slots of the worker.',
      perWorker(workers, ({ stats }) => stats?.slots),
    ),
    gauge(
      'svc_worker_cpu_pct',
      'CPU percent of the worker.',
      perWorker(workers, ({ stats }) => stats?.cpuPct),
    ),
    gauge(
      'svc_worker_rss_mb',
      'Resident memory of the worker in MB.',
      perWorker(workers, ({ stats }) => stats?.rssMb),
    ),
  ]
}

function queueGauges(types: Share['types'], nowMs: number): readonly string[] {
  const ofQueues = (numberOf: (counts: Counts) => number): readonly Sample[] =>
    ofTypes(types, ({ counts }) => (counts === null ? undefined : numberOf(counts)))
  const ageOf = ({ oldestSubmittedAtMs: oldest }: Counts): number =>
    oldest === null ? 0 : Math.max(0, nowMs - oldest) / 1_000
  return [
    gauge(
      'svc_queue_size',
      'Pending tasks, all tiers.',
      ofQueues(({ tiers }) => tiers.reduce((sum, tier) => sum + tier, 0)),
    ),
    gauge(
      'svc_queue_oldest_seconds',
      'Seconds since the submit of the oldest task that heads a tier; 0 if no task is pending.',
      ofQueues(ageOf),
    ),
    gauge(
      'svc_tasks_in_flight',
      'Leased tasks.',
      ofQueues(({ inFlight }) => inFlight),
    ),
    gauge(
      'svc_tasks_scheduled',
      'Tasks that wait for a retry or for their start time.',
      ofQueues(({ scheduled }) => scheduled),
    ),
    gauge(
      'svc_queue_dlq_length',
      'Tasks in the dead-letter queue.',
      ofQueues(({ dead }) => dead),
    ),
    gauge(
      'svc_queue_paused',
      'Whether the queue is paused, so that no task is leased.',
      ofQueues(({ paused }) => (paused === undefined ? 0 : 1)),
    ),
  ]
}

/** Numbers of groups, never series of groups: a platform may have one group for each of its customers. */
function groupGauges(types: Share['types']): readonly string[] {
  const ofEach = (numberOf: (groups: GroupTotals) => number): readonly Sample[] =>
    ofTypes(types, ({ groups }) => (groups === null ? undefined : numberOf(groups)))
  return [
    gauge(
      'svc_groups_ready',
      'Groups whose next task can be leased now.',
      ofEach(({ ready }) => ready),
    ),
    gauge(
      'svc_groups_rate_limited',
      'Groups with a pending task that wait for their rate.',
      ofEach(({ waiting }) => waiting),
    ),
    gauge(
      'svc_groups_in_flight',
      'Groups with a leased task.',
      ofEach(({ inFlight }) => inFlight),
    ),
  ]
}

/** One sample per type, except for types without the number. */
function ofTypes(types: Share['types'], numberOf: (type: TypeNumbers) => number | undefined): readonly Sample[] {
  return types.flatMap((each) => {
    const value = numberOf(each)
    return value === undefined ? [] : [{ labels: { automation_type: each.type }, value }]
  })
}

function byState({ type, workers }: TypeNumbers): readonly Sample[] {
  const totals = new Map<string, number>(WORKER_STATES.map((state) => [state, 0]))
  for (const { state } of workers) totals.set(state, (totals.get(state) ?? 0) + 1)
  return [...totals].map(([state, value]) => ({ labels: { automation_type: type, state }, value }))
}

type NumberOf = (worker: WorkerNumbers) => number | undefined

/** One sample per worker, except for workers that have not reported the number yet. */
function* perWorker(types: Share['workers'], numberOf: NumberOf): Iterable<Sample> {
  for (const { type, workers } of types) {
    for (const worker of workers) {
      const value = numberOf(worker)
      if (value !== undefined) yield { labels: { automation_type: type, worker_id: worker.id }, value }
    }
  }
}
