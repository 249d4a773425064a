/**
 * Runs one operator process in a test: its real parts, wired as in operator.ts, over connections that close when it
 * stops. A control test replaces one part to remove a safeguard.
 */
import { Registry } from 'prom-client'
import { createFleetMetrics, Fleet } from '../../../src/operator/fleet/index.ts'
import { DeletedClaims, INDICES, keptSpec, type FleetWorkerObject } from '../../../src/operator/fleetworker/index.ts'
import { FLEET_WORKERS } from '../../../src/operator/fleetworker/resource.ts'
import {
  ALWAYS_LEADING,
  createKubeMetrics,
  FoldingEventRecorder,
  LeaseElector,
  WatchLoop,
  WorkQueue,
  WritableCache,
  type KubeMetrics,
  type KubeTransport,
  type Leadership,
} from '../../../src/operator/kube/index.ts'
import { MasterOutage } from '../../../src/operator/master-outage.ts'
import { LeadershipTerm } from '../../../src/operator/leadership-term.ts'
import { EventHandlers } from '../../../src/operator/event-handlers.ts'
import type { Log, Random, VirtualTime } from '../../../src/runtime/index.ts'
import { TOKENS } from '../../kit/running-master.ts'

type CacheProgress = Pick<WatchLoop<FleetWorkerObject>, 'asOfMs' | 'wrote'>

/** Replacements of real parts. */
export interface Variants {
  readonly transport?: (real: KubeTransport) => KubeTransport
  readonly cache?: () => WritableCache<FleetWorkerObject>
  /** Wraps the leadership that the term uses; the elector itself is real. */
  readonly leadership?: (real: Leadership) => Leadership
  /** Wraps how fresh the cache is known to be. */
  readonly progress?: (real: CacheProgress) => CacheProgress
  readonly headers?: (headers: NodeJS.Dict<string | string[]>) => NodeJS.Dict<string | string[]>
}

export interface LifeParts {
  readonly time: VirtualTime
  readonly random: Random
  readonly log: Log
  readonly transport: KubeTransport
  readonly masterUrl: string
  readonly variants: Variants
  /** Takes part in the election under this name; `undefined`: it is the leader. */
  readonly replica: string | undefined
}

export class Life {
  readonly cache: WritableCache<FleetWorkerObject>
  readonly queue: WorkQueue
  readonly fleet: Fleet
  readonly handlers: EventHandlers
  readonly #deletedClaims = new DeletedClaims()
  readonly #parts: LifeParts
  readonly #abort = new AbortController()
  readonly #metrics: KubeMetrics
  readonly #events: FoldingEventRecorder
  readonly #watch: WatchLoop<FleetWorkerObject>
  readonly #elector: LeaseElector | undefined
  readonly #leadership: Leadership
  readonly #running: Promise<void>[] = []
  #term: LeadershipTerm | undefined

  constructor(parts: LifeParts) {
    this.#parts = parts
    const { log, masterUrl, random, replica, time, transport, variants } = parts
    const shared = { clock: time, timers: time, random, log }
    const registry = new Registry()
    this.#metrics = createKubeMetrics(registry, 'fleetworker', 'muster-operator')
    this.cache = variants.cache?.() ?? new WritableCache<FleetWorkerObject>(INDICES, keptSpec)
    this.queue = new WorkQueue(shared)
    this.#events = new FoldingEventRecorder({
      ...shared,
      transport,
      controller: 'muster.dev/operator',
      instance: replica ?? 'one',
    })
    this.#elector =
      replica === undefined
        ? undefined
        : new LeaseElector({
            ...shared,
            transport,
            namespace: 'muster',
            name: 'muster-operator',
            identity: replica,
            onLead: (signal) => this.#lead(signal),
          })
    const leadership = this.#elector ?? ALWAYS_LEADING
    this.#leadership = variants.leadership?.(leadership) ?? leadership
    this.fleet = new Fleet({
      ...shared,
      masterUrl,
      token: () => TOKENS.admin,
      metrics: createFleetMetrics(registry),
      mayWrite: () => this.#leadership.mayWrite(),
      onBreaker: (reason) => this.#outage.onBreaker(reason),
    })
    this.handlers = new EventHandlers({
      queue: this.queue,
      cache: this.cache,
      table: this.fleet,
      permits: () => true,
      isOurs: (object) => this.#term?.isSending(object) === true,
      isReporting: (object) => this.#term?.isReporting(object) === true,
    })
    this.#outage = new MasterOutage({
      table: this.fleet,
      queue: this.queue,
      onChange: (isUnavailable) => this.#onOutageChange(isUnavailable),
    })
    this.#watch = new WatchLoop({
      ...shared,
      transport,
      cache: this.cache,
      resource: FLEET_WORKERS,
      namespace: undefined,
      onChange: (change, source) => {
        this.#deletedClaims.onChange(change)
        this.handlers.onFleetWorker(change, source)
      },
    })
  }

  readonly #outage: MasterOutage

  start(): void {
    const { time } = this.#parts
    const { signal } = this.#abort
    this.fleet.onChange((change) => this.handlers.onTableChange(change))
    signal.addEventListener(
      'abort',
      time.every(1_000, () => this.#outage.check()),
      { once: true },
    )
    this.#running.push(this.fleet.run(signal), this.#events.run(signal), this.#watch.run(signal))
    if (this.#elector === undefined) this.#lead(signal)
    else this.#running.push(this.#elector.run(signal))
  }

  /** Stops like after SIGKILL. */
  async kill(): Promise<void> {
    this.#abort.abort(new Error('killed'))
    await Promise.all(this.#running)
    this.queue.close()
  }

  get leads(): boolean {
    return this.#leadership.mayWrite()
  }

  #onOutageChange(isUnavailable: boolean): void {
    if (!isUnavailable) this.#term?.onMasterRecovered()
    this.handlers.requeueAll()
  }

  #lead(signal: AbortSignal): void {
    const { log, random, time, transport, variants } = this.#parts
    this.#term = new LeadershipTerm({
      signal: AbortSignal.any([signal, this.#abort.signal]),
      time,
      random,
      log,
      transport,
      cache: this.cache,
      watchOf: () => variants.progress?.(this.#watch) ?? this.#watch,
      deletedClaims: this.#deletedClaims,
      isLiveClaim: (claim) => this.cache.byIndex('claim', claim).length > 0,
      queue: this.queue,
      events: this.#events,
      fleet: this.fleet,
      leadership: this.#leadership,
      handlers: this.handlers,
      metrics: this.#metrics,
      workers: { drifted: () => {} },
      watches: () => true,
      permits: () => true,
      reserved: new Set(),
      within: (_, inside) => inside(),
    })
    this.#running.push(this.#term.run())
  }
}
