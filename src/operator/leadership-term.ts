/**
 * @module operator/leadership-term
 * One term of leadership: all that writes, and what it remembers. It begins to work once both sides are known, since a
 * worker that was not listed yet would look as if it had never registered:
 *
 *   leads ──FleetWorkers listed, and the fleet listed or known to be away──▶ works ──end()──▶ finishes what runs, sends statuses
 *     └───────────────────────────── the lease is lost: everything is aborted ◀──┘
 *
 * Its first round looks at everything before it writes to the master what nobody edited, whose pace a fleet that differs as
 * a whole would impose on what does not differ.
 */
import { LogThrottle, type Log, type Random, type Time } from '../runtime/index.ts'
import type { Fleet } from './fleet/index.ts'
import {
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
  type WorkQueue,
  type WritableCache,
} from './kube/index.ts'
import { UNAVAILABLE_AFTER_MS } from './master-outage.ts'
import type { FleetWorkerMetrics } from './metrics.ts'
import { PeriodicResync } from './periodic-resync.ts'
import type { EventHandlers } from './event-handlers.ts'

const FIELD_MANAGER = 'muster-operator'
const LOOK_MS = 50
/** For what runs, and then for the statuses it made. */
const END_MS = 5_000

export interface LeadershipTermDeps {
  /** Aborts when the lease is lost. */
  readonly signal: AbortSignal
  readonly time: Time
  readonly random: Random
  readonly log: Log
  readonly transport: KubeTransport
  readonly cache: WritableCache<FleetWorkerObject>
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
  /** Runs the work on a key so that its log lines name it. */
  readonly within: <T>(key: ObjectKey, inside: () => T) => T
}

/** What moves all the time and means nothing new. */
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
  /** No key is begun any more. */
  readonly #last = new AbortController()
  /** What runs is broken off. */
  readonly #cut = new AbortController()
  #works: Promise<void> | undefined

  constructor(deps: LeadershipTermDeps) {
    this.#deps = deps
    const {
      cache,
      events,
      fleet,
      leadership,
      log,
      metrics,
      permits,
      queue,
      random,
      reserved,
      signal,
      time,
      transport,
      handlers,
      watches,
      workers,
    } = deps
    const parts = { clock: time, timers: time, random, log, transport }
    this.#status = new ApplyStatusWriter({
      ...parts,
      resource: FLEET_WORKERS,
      fieldManager: FIELD_MANAGER,
      signal,
      cache,
      mayWrite: () => leadership.mayWrite(),
      meaningOf,
      onWrite: metrics.onStatusWrite,
    })
    this.#sources = new Sources({
      ...parts,
      reserved,
      resources: () => cache.all(),
      onChange: (name) => handlers.onSource(name),
    })
    this.#resync = new PeriodicResync({
      time,
      log,
      queue,
      cache,
      table: fleet,
      master: fleet.master,
      watches,
      types: handlers,
    })
    this.#memory = new ReconcileMemory(random)
    this.#reconcileDeps = {
      cache,
      table: fleet,
      master: fleet.master,
      edits: fleet.edits,
      sources: this.#sources,
      transport,
      status: this.#status,
      events,
      leadership,
      memory: this.#memory,
      clock: time,
      log,
      logThrottle: new LogThrottle(time),
      watches,
      permits,
      onDrift: (outcome) => workers.drifted(outcome),
    }
    this.#controller = new Controller({
      queue,
      clock: time,
      timers: time,
      log,
      reconcile: (key) => this.#reconcile(key),
      observer: metrics.controller,
    })
  }

  /** Undefined before it works. */
  get controller(): Controller | undefined {
    return this.#works === undefined ? undefined : this.#controller
  }

  /** How many resources it has judged. */
  get judged(): number {
    return this.#memory.comparedCount
  }

  /** Whether this status is on its way to the API server. */
  isSending(object: FleetWorkerObject): boolean {
    return this.#status.isSending(object)
  }

  /** Whether its status waits to be sent. */
  isReporting(object: FleetWorkerObject): boolean {
    return this.#status.isDue(object)
  }

  /** The master is back: what was said of its absence is not worth a write any more. */
  masterBack(): void {
    this.#status.dropWaiting()
  }

  /** Resolves when the term is over. */
  async run(): Promise<void> {
    const { cache, fleet, signal, time, handlers } = this.#deps
    const ending = AbortSignal.any([signal, this.#last.signal])
    const isKnown = (): boolean => cache.synced && (fleet.synced || fleet.unavailableMs >= UNAVAILABLE_AFTER_MS)
    while (!isKnown() && !ending.aborted) await time.sleep(LOOK_MS, ending).catch(() => {}) // Aborted: the loop ends.
    if (ending.aborted) return
    this.#memory.beginRound(cache.all())
    handlers.requeueAll()
    this.#works = Promise.all([this.#controller.run(ending), this.#sources.run(ending), this.#resync.run(ending)]).then(
      () => {},
    )
    await this.#works
  }

  /** Ends it in order, within ten seconds. */
  async end(): Promise<void> {
    const { time } = this.#deps
    this.#last.abort(new Error('the operator stops'))
    const cancel = time.after(END_MS, () => this.#cut.abort(new Error('the operator stops')))
    await this.#works
    cancel()
    const late = new AbortController()
    const cancelFlush = time.after(END_MS, () => late.abort())
    await this.#status.flush(late.signal)
    cancelFlush()
  }

  #reconcile(key: ObjectKey): ReturnType<typeof reconcile> {
    const { signal, within } = this.#deps
    return within(key, () => reconcile(key, this.#reconcileDeps, AbortSignal.any([signal, this.#cut.signal])))
  }
}
