/**
 * @module operator/kube/metrics
 * Exports metrics of the controller under the names of controller-runtime and client-go, so that existing alerts and
 * dashboards work (D58). No label contains an object's name.
 *
 * @see D58
 */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { MAX_CONCURRENT_RECONCILES, type ControllerObserver, type ReconcileResult } from './controller.ts'
import type { StatusKind } from './status-writer.ts'
import type { RestartReason } from './watch-loop.ts'
import type { QueueObserver, WorkQueue } from './work-queue.ts'

const MS_PER_SECOND = 1_000
const RECONCILE_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const QUEUE_BUCKETS = [0.001, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 200, 1_000]

export interface KubeMetrics {
  readonly controller: ControllerObserver
  readonly queue: QueueObserver
  readonly onRequest: (method: string, code: string, host: string) => void
  readonly onLeader: (isLeading: boolean) => void
  readonly onRestart: (reason: RestartReason) => void
  readonly onStatusWrite: (kind: StatusKind) => void
  readonly onEventDrop: () => void
  /** Reads the gauges from these components at each scrape. */
  observe(parts: { readonly queue: WorkQueue; readonly watchAgeMs: () => number }): void
}

/** Registers the metrics of one controller in `registry`. `lease` is the name of its Lease. */
export function createKubeMetrics(registry: Registry, controller: string, lease: string): KubeMetrics {
  const registers = [registry]
  const requests = new Counter({
    name: 'rest_client_requests_total',
    help: 'Calls to the API server, by status code, method and host.',
    labelNames: ['code', 'method', 'host'],
    registers,
  })
  const leader = new Gauge({
    name: 'leader_election_master_status',
    help: '1 while this replica leads.',
    labelNames: ['name'],
    registers,
  })
  const restarts = new Counter({
    name: 'svc_operator_watch_restarts_total',
    help: 'Watches that were restarted, by reason.',
    labelNames: ['reason'],
    registers,
  })
  const writes = new Counter({
    name: 'svc_operator_status_writes_total',
    help: 'Status writes, by kind.',
    labelNames: ['kind'],
    registers,
  })
  const drops = new Counter({
    name: 'svc_operator_events_dropped_total',
    help: 'Kubernetes Events that were dropped because of a limit or an error.',
    registers,
  })
  leader.set({ name: lease }, 0)
  return {
    controller: reconcileMetrics(registry, controller),
    queue: queueMetrics(registry, controller),
    onRequest: (method, code, host) => requests.inc({ method, code, host }),
    onLeader: (isLeading) => leader.set({ name: lease }, isLeading ? 1 : 0),
    onRestart: (reason) => restarts.inc({ reason }),
    onStatusWrite: (kind) => writes.inc({ kind }),
    onEventDrop: () => drops.inc(),
    observe: (parts) => observeGauges(registry, controller, parts),
  }
}

function reconcileMetrics(registry: Registry, controller: string): ControllerObserver {
  const [registers, labelNames] = [[registry], ['controller']]
  const total = new Counter({
    name: 'controller_runtime_reconcile_total',
    help: 'Reconciles, by result.',
    labelNames: ['controller', 'result'],
    registers,
  })
  const errors = new Counter({
    name: 'controller_runtime_reconcile_errors_total',
    help: 'Reconciles that failed.',
    labelNames,
    registers,
  })
  const terminal = new Counter({
    name: 'controller_runtime_terminal_reconcile_errors_total',
    help: 'Reconciles that failed with a terminal error, which is not retried.',
    labelNames,
    registers,
  })
  const seconds = new Histogram({
    name: 'controller_runtime_reconcile_time_seconds',
    help: 'How long a reconcile took.',
    labelNames,
    registers,
    buckets: RECONCILE_BUCKETS,
  })
  const active = new Gauge({
    name: 'controller_runtime_active_workers',
    help: 'Reconciles that run now.',
    labelNames,
    registers,
  })
  const most = new Gauge({
    name: 'controller_runtime_max_concurrent_reconciles',
    help: 'Reconciles that may run concurrently.',
    labelNames,
    registers,
  })
  for (const result of ['success', 'error', 'requeue', 'requeue_after'] satisfies ReconcileResult[])
    total.inc({ controller, result }, 0)
  errors.inc({ controller }, 0)
  terminal.inc({ controller }, 0)
  most.set({ controller }, MAX_CONCURRENT_RECONCILES)
  active.set({ controller }, 0)
  return {
    onStart: () => active.inc({ controller }),
    onEnd: (result, ranMs, isTerminal) => {
      active.dec({ controller })
      total.inc({ controller, result })
      seconds.observe({ controller }, ranMs / MS_PER_SECOND)
      if (result === 'error') errors.inc({ controller })
      if (isTerminal) terminal.inc({ controller })
    },
  }
}

function queueMetrics(registry: Registry, name: string): QueueObserver {
  const [registers, labelNames] = [[registry], ['name']]
  const adds = new Counter({
    name: 'workqueue_adds_total',
    help: 'Keys that were added to the queue.',
    labelNames,
    registers,
  })
  const retries = new Counter({
    name: 'workqueue_retries_total',
    help: 'Keys that were retried.',
    labelNames,
    registers,
  })
  const waited = new Histogram({
    name: 'workqueue_queue_duration_seconds',
    help: 'How long a key waited in the queue.',
    labelNames,
    registers,
    buckets: QUEUE_BUCKETS,
  })
  const worked = new Histogram({
    name: 'workqueue_work_duration_seconds',
    help: 'How long a key was processed.',
    labelNames,
    registers,
    buckets: QUEUE_BUCKETS,
  })
  return {
    onAdd: () => adds.inc({ name }),
    onTake: (waitedMs) => waited.observe({ name }, waitedMs / MS_PER_SECOND),
    onDone: (ranMs) => worked.observe({ name }, ranMs / MS_PER_SECOND),
    onRetry: () => retries.inc({ name }),
  }
}

function observeGauges(
  registry: Registry,
  name: string,
  { queue, watchAgeMs }: Parameters<KubeMetrics['observe']>[0],
): void {
  const gauge = (metric: string, help: string, read: () => number): void => {
    const made: Gauge = new Gauge({
      name: metric,
      help,
      labelNames: ['name'],
      registers: [registry],
      collect: () => made.set({ name }, read()),
    })
  }
  gauge('workqueue_depth', 'Keys that are ready to be processed.', () => queue.depth)
  gauge(
    'workqueue_unfinished_work_seconds',
    'Seconds that the keys in progress have been processed, in total.',
    () => sum(queue.runningMs()) / MS_PER_SECOND,
  )
  gauge(
    'workqueue_longest_running_processor_seconds',
    'Seconds that the longest-running key has been processed.',
    () => Math.max(0, ...queue.runningMs()) / MS_PER_SECOND,
  )
  gauge(
    'svc_operator_watch_age_seconds',
    'Seconds since the oldest watch last received data or retried.',
    () => watchAgeMs() / MS_PER_SECOND,
  )
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)
