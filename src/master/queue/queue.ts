/**
 * @module master/queue/queue
 * Creates the task queues of all automation types: their routes, the calls that the RPC of workers uses, the sweep, the
 * samples, and the tick that checks the queues for waiting reserves every second.
 */
import { Counter, Gauge } from 'prom-client'
import { LogThrottle } from '../../runtime/index.ts'
import type { Lease, LeaseRef, Ref } from '../../storage/index.ts'
import type { MasterDeps, Part } from '../deps.ts'
import { RateLimiter } from '../http/rate-limit.ts'
import { regressionsIn } from '../regressions.ts'
import { inspectRoutes } from './inspect.ts'
import { RUN_ITEMS } from './batcher.ts'
import { Samples } from './samples.ts'
import { submitRoutes } from './submit.ts'
import { Sweeper } from './sweep.ts'
import { TypeQueue, type Extended, type NackOptions, type Nacked, type Settled } from './type-queue.ts'
import type { ReserveOptions, Capacity } from './waiters.ts'

/** The longest time that a task waits if the notification that it became ready was lost. */
const TICK_MS = 1_000

export interface Queue extends Part {
  /**
   * Leases up to `limit` tasks, or returns none after `waitMs`. Returns none immediately for a draining worker.
   * @throws {RpcError} `unknown_worker`
   * @throws {FleetError} if the store is unavailable, or too many reserves are waiting.
   */
  reserve(type: string, options: ReserveOptions): Promise<readonly Lease[]>
  ack(type: string, leases: readonly LeaseRef[]): Promise<readonly Settled[]>
  release(type: string, leases: readonly LeaseRef[]): Promise<readonly Settled[]>
  extend(type: string, leases: readonly LeaseRef[]): Promise<readonly Extended[]>
  nack(type: string, nacks: readonly NackOptions[]): Promise<readonly Nacked[]>
  /**
   * Ends the waiting reserves of one worker with an empty result, including those that are being served now. To be
   * called after the drain is stored and before the drain request returns (G14).
   */
  dismissWaiters(ref: Ref): void
  /** Ends every waiting reserve, and every later one, with an empty result. Called before the process exits. */
  close(): void
}

/**
 * @param overloaded Whether new tasks are rejected for now.
 * @param makeCapacity Drops outputs of a full store.
 */
export function createQueue(
  deps: MasterDeps,
  overloaded: () => boolean = () => false,
  makeCapacity: () => Promise<boolean> = () => Promise.resolve(false),
): Queue {
  const { backend, clock, random, settings } = deps
  const meters = metersOf(deps)
  const logThrottle = new LogThrottle(clock)
  const regressions = regressionsIn(deps.metrics)
  const backendTime = new BackendTime(deps)
  const capacity: Capacity = { taken: 0 }
  const queues = new Map(
    [...deps.catalog.values()].map((entry) => [
      entry.type,
      new TypeQueue(entry, {
        backend,
        random,
        capacity,
        clock,
        timers: deps.timers,
        idempotencyTtlMs: settings.idempotencyTtlSeconds * 1_000,
        maxQueueLength: settings.maxQueueLength,
        backendNowMs: () => backendTime.nowMs(),
        makeCapacity,
        onRegression: ({ id, token }) => {
          regressions.inc()
          logThrottle.run(`regression/${entry.type}`, (suppressed) =>
            deps.log.error('the store lost recent changes: a worker has a lease that the store never issued', {
              automation_type: entry.type,
              task_id: id,
              token,
              more_since_last_line: suppressed,
            }),
          )
        },
        onRefused: (reason) => meters.refusedReserves.inc({ automation_type: entry.type, reason }),
        onExpired: (count) => meters.expired.inc({ automation_type: entry.type }, count),
        onReserveFailed: (error) =>
          logThrottle.run(`reserve/${entry.type}`, (suppressed) =>
            deps.log.warn('failed to reserve tasks; waiting reserves stay queued and are retried', {
              automation_type: entry.type,
              error,
              more_since_last_line: suppressed,
            }),
          ),
      }),
    ]),
  )
  const queueOf = (type: string): TypeQueue => {
    const queue = queues.get(type)
    if (queue === undefined) throw new TypeError(`no automation of type "${type}" is installed`)
    return queue
  }
  meters.waitersFrom(() => queues.values())
  const samples = new Samples(batchTypes(queues), {
    clock,
    timers: deps.timers,
    counts: (types) => backend.tasks.counts(types),
    onFailed: (error) =>
      logThrottle.run('samples', (suppressed) =>
        deps.log.warn('failed to count the queues; their statistics have a gap', {
          error,
          more_since_last_line: suppressed,
        }),
      ),
  })
  return {
    routes: [
      ...submitRoutes({
        clock,
        random,
        overloaded,
        queueOf,
        refused: meters.refused,
        limiter: new RateLimiter(clock, settings.submitRpsPerToken),
      }),
      ...inspectRoutes({ tasks: backend.tasks, samples, inspections: deps.inspections, queueOf }),
    ],
    reserve: (type, options) => queueOf(type).reserve(options),
    ack: (type, leases) => queueOf(type).ack(leases),
    release: (type, leases) => queueOf(type).release(leases),
    extend: (type, leases) => queueOf(type).extend(leases),
    nack: (type, nacks) => queueOf(type).nack(nacks),
    dismissWaiters: ({ type, id }) => queues.get(type)?.dismiss(id),
    close: () => closeAll(queues.values()),
    ...background(deps, { queues, samples, logThrottle, meters, backendTime }),
  }
}

const batchTypes = (queues: ReadonlyMap<string, TypeQueue>): readonly string[] =>
  [...queues.values()].filter(({ entry }) => entry.kind === 'BatchAutomation').map(({ entry }) => entry.type)

interface Background {
  readonly queues: ReadonlyMap<string, TypeQueue>
  readonly samples: Samples
  readonly logThrottle: LogThrottle
  readonly meters: Meters
  readonly backendTime: BackendTime
}

/** Runs the tick, the wake-ups from other masters, the sweep and the samples. */
function background(
  deps: MasterDeps,
  { queues, samples, logThrottle, meters, backendTime }: Background,
): Required<Pick<Part, 'start' | 'stop'>> {
  const sweeper = new Sweeper({
    timers: deps.timers,
    random: deps.random,
    step: (type) => deps.backend.tasks.sweep(type, deps.settings.maxLostLeases, RUN_ITEMS),
    onSwept: (type, { requeued, promoted, dead }) => {
      meters.lost.inc({ automation_type: type, outcome: 'requeued' }, requeued)
      meters.lost.inc({ automation_type: type, outcome: 'dead' }, dead)
      queues.get(type)?.wake(requeued + promoted)
    },
    onFailed: (type, error) =>
      logThrottle.run(`sweep/${type}`, (suppressed) =>
        deps.log.warn('failed to sweep expired leases and due retries; retrying in 10 s', {
          automation_type: type,
          error,
          more_since_last_line: suppressed,
        }),
      ),
  })
  const ends: (() => void)[] = []
  return {
    start: async () => {
      await backendTime.learn()
      ends.push(
        deps.timers.every(TICK_MS, () => {
          for (const queue of queues.values()) queue.wake()
        }),
      )
      ends.push(deps.backend.bus.onSignal((signal) => void (signal.kind === 'wake' && queues.get(signal.type)?.wake())))
      sweeper.start(batchTypes(queues))
      samples.start()
    },
    stop: async () => {
      for (const end of ends.splice(0)) end()
      closeAll(queues.values())
      await Promise.all([sweeper.stop(), samples.stop()])
    },
  }
}

function closeAll(queues: Iterable<TypeQueue>): void {
  for (const queue of queues) queue.close()
}

/** Estimates the backend's clock: reads it once, then adds the time of the local monotonic clock. */
class BackendTime {
  readonly #deps: MasterDeps
  #aheadMs: number | null = null

  constructor(deps: MasterDeps) {
    this.#deps = deps
  }

  async learn(): Promise<void> {
    const { nowMs } = await this.#deps.backend.meta.info()
    this.#aheadMs = nowMs - this.#deps.clock.monotonicMs()
  }

  nowMs(): number {
    return this.#aheadMs === null ? this.#deps.clock.wallMs() : this.#aheadMs + this.#deps.clock.monotonicMs()
  }
}

interface Meters {
  readonly expired: Counter
  readonly refused: Counter
  readonly refusedReserves: Counter
  readonly lost: Counter
  readonly waitersFrom: (queues: () => Iterable<TypeQueue>) => void
}

function metersOf({ metrics }: MasterDeps): Meters {
  const registers = [metrics]
  return {
    expired: new Counter({
      name: 'svc_tasks_expired_total',
      help: 'Tasks dropped at reserve, older than their ttl_seconds.',
      labelNames: ['automation_type'],
      registers,
    }),
    refused: new Counter({
      name: 'svc_submits_refused_total',
      help: 'Tasks and batches that were not queued.',
      labelNames: ['automation_type', 'reason'],
      registers,
    }),
    refusedReserves: new Counter({
      name: 'svc_reserves_refused_total',
      help: 'Reserves that were rejected or ended early because too many were waiting.',
      labelNames: ['automation_type', 'reason'],
      registers,
    }),
    lost: new Counter({
      name: 'svc_leases_lost_total',
      help: 'Leases that expired, by what happened to their task.',
      labelNames: ['automation_type', 'outcome'],
      registers,
    }),
    waitersFrom: (queues) =>
      void new Gauge({
        name: 'svc_reserve_waiters',
        help: 'Reserves that wait for a task on this master.',
        labelNames: ['automation_type'],
        registers,
        collect() {
          for (const { entry, waiting } of queues()) this.set({ automation_type: entry.type }, waiting)
        },
      }),
  }
}
