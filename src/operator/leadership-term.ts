/**
 * @module operator/leadership-term
 * Runs one term of leadership: every component that writes, and the state it keeps.
 *
 *   leading ──FleetWorkers listed──▶ edits ──the fleet listed or unavailable──▶ all work ──end()──▶ finish runs, send
 *     └────────────────── the lease is lost: everything is aborted ◀─────────────────┘              statuses
 *
 * All FleetWorkers must be known before the first edit, because an older one may own the same worker. The fleet need
 * not be: an edit whose worker was not listed yet is looked at again when it is. All other work waits for the fleet.
 *
 * The first round looks at every resource before it sends unedited resources to the master. Otherwise a fleet that
 * differs as a whole would delay the resources that do not differ.
 */
import { LogThrottle, sleep, type Log, type Random, type Time } from '../runtime/index.ts'
import { FIELD_MANAGER } from './config/index.ts'
import type { Fleet } from './fleet/index.ts'
import {
  type DeletedClaims,
  FLEET_WORKERS,
  reconcile,
  ReconcileMemory,
  Sources,
  type FleetWorkerObject,
  type FleetWorkerStatus,
  type Permits,
  type ReconcileDeps,
  type SourceName,
} from './fleetworker/index.ts'
import {
  ApplyStatusWriter,
  Controller,
  type EventRecorder,
  type KubeMetrics,
  type KubeTransport,
  type Leadership,
  type ObjectKey,
  type WatchLoop,
  type WorkQueue,
  type WritableCache,
} from './kube/index.ts'
import { UNAVAILABLE_AFTER_MS } from './master-outage.ts'
import type { FleetWorkerMetrics } from './metrics.ts'
import { OrderlyEnd } from './orderly-end.ts'
import { PeriodicResync } from './periodic-resync.ts'
import type { EventHandlers } from './event-handlers.ts'

const LOOK_MS = 10
/** A cache that is complete up to this long ago is fresh: in a term, no other replica writes configs meanwhile. */
const FRESH_MS = 5_000

export interface LeadershipTermDeps {
  /** Aborts when the lease is lost. */
  readonly signal: AbortSignal
  readonly time: Time
  readonly random: Random
  readonly log: Log
  readonly transport: KubeTransport
  readonly cache: WritableCache<FleetWorkerObject>
  /** The watch of a namespace. */
  readonly watchOf: (namespace: string) => Pick<WatchLoop<FleetWorkerObject>, 'asOfMs' | 'wrote'> | undefined
  readonly deletedClaims: DeletedClaims
  /** Whether a claim is that of an existing FleetWorker or set. */
  readonly isLiveClaim: (claim: string) => boolean
  readonly queue: WorkQueue
  readonly events: EventRecorder
  readonly fleet: Fleet
  readonly leadership: Leadership
  readonly handlers: EventHandlers
  readonly metrics: KubeMetrics
  readonly workers: Pick<FleetWorkerMetrics, 'drifted'>
  readonly watches: (namespace: string) => boolean
  readonly permits: Permits
  /** Secrets that Muster itself uses, which are never a source. */
  readonly reserved: ReadonlySet<SourceName>
  /** Runs the work on a key so that its log lines carry the key. */
  readonly within: <T>(key: ObjectKey, inside: () => T) => T
}

/** Status fields that change all the time. A difference in only these is written as a heartbeat. */
const HEARTBEAT: ReadonlySet<string> = new Set<keyof FleetWorkerStatus>(['lastSeenTime', 'cpuPercent', 'rssMegabytes'])
const meaningOf = (status: FleetWorkerStatus): object =>
  Object.fromEntries(Object.entries(status).filter(([field]) => !HEARTBEAT.has(field)))

export class LeadershipTerm {
  readonly #deps: LeadershipTermDeps
  readonly #status: ApplyStatusWriter<FleetWorkerObject, FleetWorkerStatus>
  readonly #sources: Sources
  readonly #resync: PeriodicResync
  readonly #controller: Controller
  readonly #reconcileDeps: ReconcileDeps
  readonly #memory: ReconcileMemory
  readonly #end: OrderlyEnd
  #works: Promise<void> | undefined

  constructor(deps: LeadershipTermDeps) {
    this.#deps = deps
    const { metrics, queue, random, signal, time, log } = deps
    this.#end = new OrderlyEnd(time, signal)
    this.#status = createStatusWriter(deps)
    this.#sources = createSources(deps)
    this.#resync = createResync(deps)
    this.#memory = new ReconcileMemory(random)
    this.#reconcileDeps = createReconcileDeps(deps, {
      status: this.#status,
      sources: this.#sources,
      memory: this.#memory,
    })
    this.#controller = new Controller({
      queue,
      clock: time,
      timers: time,
      log,
      reconcile: (key) => this.#reconcile(key),
      observer: metrics.controller,
    })
  }

  /** `undefined` before the term starts working. */
  get controller(): Controller | undefined {
    return this.#works === undefined ? undefined : this.#controller
  }

  /** Number of resources that this term has compared with their workers. */
  get comparedCount(): number {
    return this.#memory.comparedCount
  }

  /** Whether a write of this status is in flight. */
  isSending(object: FleetWorkerObject): boolean {
    return this.#status.isSending(object)
  }

  /** Whether a write of its status is pending. */
  isReporting(object: FleetWorkerObject): boolean {
    return this.#status.isDue(object)
  }

  /** Drops pending statuses that report the outage, because the master has recovered. */
  onMasterRecovered(): void {
    this.#status.dropWaiting()
  }

  /** Resolves when the term has ended. */
  async run(): Promise<void> {
    const { cache, handlers, queue } = this.#deps
    const { ending } = this.#end
    if (!(await this.#until(() => cache.isSynced, ending))) return
    queue.holdBulk(true)
    handlers.requeueAll()
    this.#works = Promise.all([this.#controller.run(ending), this.#sources.run(ending), this.#beginRound(ending)]).then(
      () => {},
    )
    await this.#works
  }

  async #beginRound(ending: AbortSignal): Promise<void> {
    const { cache, fleet, queue } = this.#deps
    const isKnown = (): boolean => fleet.isSynced || fleet.unavailableMs >= UNAVAILABLE_AFTER_MS
    if (!(await this.#until(isKnown, ending))) return
    this.#memory.beginRound(cache.all())
    queue.holdBulk(false)
    await this.#resync.run(ending)
  }

  /** @returns false if the signal aborts first. */
  async #until(isTrue: () => boolean, signal: AbortSignal): Promise<boolean> {
    while (!isTrue() && !signal.aborted) await sleep(this.#deps.time, LOOK_MS, signal)
    return !signal.aborted
  }

  /** Ends the term in order, within 10 s. */
  async end(): Promise<void> {
    await this.#end.end(this.#works, (late) => this.#status.flush(late))
  }

  #reconcile(key: ObjectKey): ReturnType<typeof reconcile> {
    return this.#deps.within(key, () => reconcile(key, this.#reconcileDeps, this.#end.running))
  }
}

function createStatusWriter(deps: LeadershipTermDeps): ApplyStatusWriter<FleetWorkerObject, FleetWorkerStatus> {
  const { cache, leadership, log, metrics, random, signal, time, transport, watchOf } = deps
  return new ApplyStatusWriter({
    clock: time,
    timers: time,
    random,
    log,
    transport,
    resource: FLEET_WORKERS,
    fieldManager: FIELD_MANAGER,
    signal,
    cache,
    mayWrite: () => leadership.mayWrite(),
    meaningOf,
    onWrite: metrics.onStatusWrite,
    onChanged: ({ metadata: { namespace, resourceVersion } }, sentMs) =>
      watchOf(namespace)?.wrote(resourceVersion, sentMs),
  })
}

function createSources({ cache, handlers, log, reserved, time, transport }: LeadershipTermDeps): Sources {
  return new Sources({
    clock: time,
    timers: time,
    log,
    transport,
    reserved,
    resources: () => cache.all(),
    onChange: (name) => handlers.onSource(name),
  })
}

function createResync({
  cache,
  fleet,
  handlers,
  isLiveClaim,
  log,
  queue,
  time,
  watches,
}: LeadershipTermDeps): PeriodicResync {
  return new PeriodicResync({
    time,
    log,
    queue,
    cache,
    table: fleet,
    master: fleet.master,
    watches,
    isLiveClaim,
    types: handlers,
  })
}

function createReconcileDeps(
  {
    cache,
    deletedClaims,
    events,
    fleet,
    isLiveClaim,
    leadership,
    log,
    permits,
    time,
    transport,
    watches,
    watchOf,
    workers,
  }: LeadershipTermDeps,
  own: Pick<ReconcileDeps, 'status' | 'sources' | 'memory'>,
): ReconcileDeps {
  const beganMs = time.monotonicMs()
  return {
    ...own,
    cache,
    isFresh: (namespace) =>
      (watchOf(namespace)?.asOfMs ?? -Infinity) >= Math.max(beganMs, time.monotonicMs() - FRESH_MS),
    deletedClaims,
    isLiveClaim,
    table: fleet,
    master: fleet.master,
    edits: fleet.edits,
    transport,
    events,
    leadership,
    clock: time,
    log,
    logThrottle: new LogThrottle(time),
    watches,
    permits,
    onDrift: (outcome) => workers.drifted(outcome),
  }
}
