/**
 * @module master/queue/queue
 * The task queues of all automation types: their routes, the calls that the RPC of workers uses, the sweep, the
 * rollups, and the tick that checks the queues for waiting reserves every second.
 */
import { DEFAULT_MAX_OUTCOMES } from '../../protocol/index.ts'
import { LogThrottle } from '../../runtime/index.ts'
import type { CatalogEntry } from '../../automation/index.ts'
import type {
  CancelledLease,
  DoneTask,
  ExtendHoldResult,
  Lease,
  MasterSignal,
  LeaseRef,
  Ref,
} from '../../storage/index.ts'
import type { MasterDeps, Part } from '../deps.ts'
import type { MasterReleases } from '../master-releases.ts'
import { RateLimiter, type Route } from '../http/index.ts'
import { regressionsIn } from '../regressions.ts'
import { BackendTime } from './backend-time.ts'
import { cancelRoutes } from './cancel.ts'
import { deadGroupRoutes } from './dead-groups.ts'
import { findRoute } from './find.ts'
import { setGroupPolicies } from './groups.ts'
import { historyRoutes } from './history-routes.ts'
import { inspectRoutes } from './inspect.ts'
import { Latencies } from './latencies.ts'
import { listRoute } from './list.ts'
import { RUN_ITEMS } from './batcher.ts'
import { Replays } from './replays.ts'
import { describeAll, locateAll, outcomeRoutes } from './outcomes.ts'
import { pauseRoutes } from './pause.ts'
import { QueueMetrics } from './queue-metrics.ts'
import { countDead, replayDead, type DeadToReplay } from './replay-dead.ts'
import { RollupRecorder } from './rollup-recorder.ts'
import { submitRoutes } from './submit.ts'
import { Sweeper } from './sweep.ts'
import { TaskWaits } from './task-waits.ts'
import { TypeQueue, type LeaseExtension, type NackOptions, type Nacked, type Settled } from './type-queue.ts'
import type { ReserveOptions, Capacity } from './waiters.ts'

/** The longest time that a task waits if the notification that it became ready was lost. */
const TICK_MS = 1_000

export interface QueueDeps extends MasterDeps {
  /** What the live masters implement. If left out, there is no other master. */
  readonly releases?: MasterReleases
  /** Whether this master samples the queues for all masters. If left out, it does. */
  readonly isSampling?: () => boolean
  /** Whether this master sweeps the queue of the type. If left out, it sweeps all. */
  readonly isSweeping?: (type: string) => boolean
  /** Whether new tasks are rejected for now. */
  readonly isOverloaded: () => boolean
  /** Called with leases that a cancel has ended. */
  readonly onCancelled?: (type: string, leases: readonly CancelledLease[]) => void
  /** Drops outputs of a full store. @returns whether there were any. */
  readonly makeCapacity: () => Promise<boolean>
}

export class Queue implements Part {
  readonly routes: readonly Route[]
  readonly #deps: QueueDeps
  readonly #metrics: QueueMetrics
  readonly #logThrottle: LogThrottle
  readonly #backendTime: BackendTime
  /** By automation type. */
  readonly #queues: ReadonlyMap<string, TypeQueue>
  readonly #sweeper: Sweeper
  readonly #rollups: RollupRecorder
  /** By automation type. */
  readonly #latencies: ReadonlyMap<string, Latencies>
  readonly #waits: TaskWaits
  readonly #replays: Replays
  /** What `start` began; each call ends one of them. */
  readonly #ends: (() => void)[] = []

  constructor(deps: QueueDeps) {
    this.#deps = deps
    this.#metrics = new QueueMetrics(deps.metrics, () => this.#queues.values())
    this.#logThrottle = new LogThrottle(deps.clock)
    this.#backendTime = new BackendTime(deps)
    this.#waits = this.#createWaits()
    this.#replays = new Replays(deps)
    this.#latencies = new Map([...deps.catalog.keys()].map((type) => [type, new Latencies(deps.clock)]))
    this.#queues = this.#createQueues()
    this.#sweeper = this.#createSweeper()
    this.#rollups = this.#createRollups()
    this.routes = this.#createRoutes()
  }

  async start(): Promise<void> {
    const { backend, timers } = this.#deps
    await this.#backendTime.learn()
    await setGroupPolicies(backend.tasks, this.#batchEntries())
    this.#ends.push(
      timers.every(TICK_MS, () => this.#tick()),
      backend.bus.onSignal((signal) => this.#onSignal(signal)),
    )
    this.#sweeper.start(this.#batchTypes())
    this.#rollups.start()
  }

  async stop(): Promise<void> {
    for (const end of this.#ends.splice(0)) end()
    this.close()
    await Promise.all([this.#sweeper.stop(), this.#rollups.stop()])
  }

  /**
   * Leases up to `limit` tasks, or returns none after `waitMs`. Returns none immediately for a draining worker.
   * @throws {RpcError} `unknown_worker`
   * @throws {FleetError} if the store is unavailable, or too many reserves are waiting.
   */
  reserve(type: string, options: ReserveOptions): Promise<readonly Lease[]> {
    return this.#queueOf(type).reserve(options)
  }

  ack(type: string, leases: readonly DoneTask[]): Promise<readonly Settled[]> {
    return this.#queueOf(type).ack(leases)
  }

  release(type: string, leases: readonly LeaseRef[]): Promise<readonly Settled[]> {
    return this.#queueOf(type).release(leases)
  }

  extend(type: string, leases: readonly LeaseExtension[]): Promise<readonly ExtendHoldResult[]> {
    return this.#queueOf(type).extend(leases)
  }

  nack(type: string, nacks: readonly NackOptions[]): Promise<readonly Nacked[]> {
    return this.#queueOf(type).nack(nacks)
  }

  /**
   * Ends the waiting reserves of one worker with an empty result, including those that are being served now. To be
   * called after the drain is stored and before the drain request returns (G14).
   */
  dismissWaiters({ type, id }: Ref): void {
    this.#queues.get(type)?.dismiss(id)
  }

  /** Counts dead tasks of a group, or of all groups if it is null. */
  countDead(type: string, of: Parameters<typeof countDead>[2]): ReturnType<typeof countDead> {
    return countDead(this.#deps.backend.tasks, type, of)
  }

  /** Replays up to `n` dead tasks for an operation. */
  replayDead(type: string, of: DeadToReplay, n: number): ReturnType<typeof replayDead> {
    const { tasks } = this.#deps.backend
    return replayDead({ queue: this.#queueOf(type), tasks, replays: this.#replays }, of, n)
  }

  /** Ends every waiting reserve, and every later one, with an empty result. Called before the process exits. */
  close(): void {
    for (const queue of this.#queues.values()) queue.close()
  }

  #createQueues(): ReadonlyMap<string, TypeQueue> {
    const capacity: Capacity = { taken: 0 } // Shared by all types.
    const onRegression = this.#regressionReporter()
    return new Map(
      [...this.#deps.catalog.values()].map((entry) => [entry.type, this.#createQueue(entry, capacity, onRegression)]),
    )
  }

  #createQueue(
    entry: CatalogEntry,
    capacity: Capacity,
    onRegression: (type: string, lease: LeaseRef) => void,
  ): TypeQueue {
    const { backend, clock, log, makeCapacity, random, settings, timers } = this.#deps
    const { type } = entry
    return new TypeQueue(entry, {
      backend,
      random,
      capacity,
      clock,
      timers,
      idempotencyTtlMs: settings.idempotencyTtlSeconds * 1_000,
      maxQueueLength: settings.maxQueueLength,
      latencies: this.#latenciesOf(type),
      maxOutcomes: settings.maxOutcomes ?? DEFAULT_MAX_OUTCOMES,
      onFinished: (ids) => this.#waits.finished(type, ids),
      onCancelled: (leases) => this.#deps.onCancelled?.(type, leases),
      backendNowMs: () => this.#backendTime.nowMs(),
      makeCapacity,
      onRegression: (lease) => onRegression(type, lease),
      onRefused: (reason) => this.#metrics.refusedReserves.inc({ automation_type: type, reason }),
      onExpired: (count) => this.#metrics.expired.inc({ automation_type: type }, count),
      onReserveFailed: (error) =>
        this.#logThrottle.run(`reserve/${type}`, (suppressed) =>
          log.warn('failed to reserve tasks; waiting reserves stay queued and are retried', {
            automation_type: type,
            error,
            more_since_last_line: suppressed,
          }),
        ),
    })
  }

  /** Counts and logs leases that the store never issued. */
  #regressionReporter(): (type: string, lease: LeaseRef) => void {
    const { log, metrics } = this.#deps
    const regressions = regressionsIn(metrics)
    return (type, { id, token }) => {
      regressions.inc()
      this.#logThrottle.run(`regression/${type}`, (suppressed) =>
        log.error(
          'the store lost recent changes: a worker has a lease that the store never issued; check its durability',
          {
            automation_type: type,
            task_id: id,
            token,
            more_since_last_line: suppressed,
          },
        ),
      )
    }
  }

  #createSweeper(): Sweeper {
    const { backend, isSweeping = () => true, log, random, settings, timers } = this.#deps
    return new Sweeper({
      timers,
      random,
      isMine: isSweeping,
      step: (type) => backend.tasks.sweep(type, settings.maxLostLeases, RUN_ITEMS),
      onSwept: (type, swept) => {
        this.#metrics.lost.inc({ automation_type: type, outcome: 'requeued' }, swept.requeued)
        this.#metrics.lost.inc({ automation_type: type, outcome: 'dead' }, swept.dead)
        this.#queues.get(type)?.swept(swept)
      },
      onFailed: (type, error) =>
        this.#logThrottle.run(`sweep/${type}`, (suppressed) =>
          log.warn('failed to sweep expired leases and due retries; retrying in 10 s', {
            automation_type: type,
            error,
            more_since_last_line: suppressed,
          }),
        ),
    })
  }

  #createWaits(): TaskWaits {
    const {
      backend: { tasks },
      clock,
      log,
      timers,
    } = this.#deps
    return new TaskWaits({
      clock,
      timers,
      describe: (type, ids) => describeAll(tasks, type, ids),
      locate: (type, ids) => locateAll(tasks, type, ids),
      onCheckFailed: (error) =>
        this.#logThrottle.run('waits', (suppressed) =>
          log.warn('failed to look for finished tasks; retrying in a second', {
            error,
            more_since_last_line: suppressed,
          }),
        ),
    })
  }

  #createRollups(): RollupRecorder {
    const { backend, clock, isSampling = () => true, log, timers } = this.#deps
    return new RollupRecorder(this.#batchTypes(), {
      clock,
      timers,
      rollups: backend.rollups,
      counts: (types) => backend.tasks.counts(types),
      latencies: (type) => this.#latenciesOf(type),
      isSampling,
      onFailed: (error) =>
        this.#logThrottle.run('rollups', (suppressed) =>
          log.warn('failed to count the queues; their history has a gap', {
            error,
            more_since_last_line: suppressed,
          }),
        ),
    })
  }

  #latenciesOf(type: string): Latencies {
    const latencies = this.#latencies.get(type)
    if (latencies === undefined) throw new TypeError(`no automation of type "${type}" is installed`)
    return latencies
  }

  #createRoutes(): readonly Route[] {
    const { backend, clock, inspections, isOverloaded, log, random, releases, settings } = this.#deps
    const backendNowMs = (): number => this.#backendTime.nowMs()
    const queueOf = (type: string): TypeQueue => this.#queueOf(type)
    const replays = this.#replays
    return [
      ...submitRoutes({
        clock,
        random,
        releases,
        backendNowMs,
        idempotencyTtlSeconds: settings.idempotencyTtlSeconds,
        isOverloaded,
        queueOf,
        refused: this.#metrics.refused,
        limiter: new RateLimiter(clock, settings.submitRpsPerToken),
        ownLimiter: new RateLimiter(clock, 0),
        liveMasters: () => Math.max(1, releases?.masters?.length ?? 1),
      }),
      ...outcomeRoutes(this.#waits, backend.tasks),
      findRoute({
        types: () => this.#batchTypes(),
        describe: (type, ids) => describeAll(backend.tasks, type, ids),
      }),
      listRoute({ tasks: backend.tasks, inspections }),
      ...inspectRoutes({ tasks: backend.tasks, inspections, queueOf, replays }),
      ...historyRoutes({ clock, inspections, rollups: backend.rollups, types: () => this.#batchTypes(), backendNowMs }),
      ...deadGroupRoutes({ tasks: backend.tasks, inspections, queueOf, replays }),
      ...cancelRoutes({ queueOf, releases }),
      ...pauseRoutes({ backend, clock, log, releases, backendNowMs, queueOf }),
    ]
  }

  #queueOf(type: string): TypeQueue {
    const queue = this.#queues.get(type)
    if (queue === undefined) throw new TypeError(`no automation of type "${type}" is installed`)
    return queue
  }

  #batchTypes(): readonly string[] {
    return this.#batchEntries().map(({ type }) => type)
  }

  #batchEntries(): readonly CatalogEntry[] {
    const entries = [...this.#queues.values()].map(({ entry }) => entry)
    return entries.filter(({ kind }) => kind === 'BatchAutomation')
  }

  #onSignal(signal: MasterSignal): void {
    if (signal.kind === 'wake') this.#queues.get(signal.type)?.probe(signal.isChosen === true)
    else if (signal.kind === 'finished') this.#waits.finished(signal.type, signal.ids)
  }

  #tick(): void {
    for (const queue of this.#queues.values()) queue.wake()
    void this.#waits.check()
  }
}
