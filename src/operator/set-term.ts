/**
 * @module operator/set-term
 * Runs one term of leadership for FleetWorkerSets: their controller, their status writer, their sources.
 *
 * A set writes only once all FleetWorkers and all sets are listed, since one of them may own the same worker, and the
 * workers of its type are. The workers of other types do not delay it.
 */
import { sleep, type Log, type Random, type Time } from '../runtime/index.ts'
import { FIELD_MANAGER } from './config/index.ts'
import type { Fleet } from './fleet/index.ts'
import { Sources, type FleetWorkerObject, type SourceName, type WorkerScope } from './fleetworker/index.ts'
import {
  FLEET_WORKER_SETS,
  keepRulesClean,
  reconcileSet,
  RolloutReports,
  SetMemory,
  type FleetWorkerSetObject,
  type FleetWorkerSetStatus,
  type SetDeps,
} from './fleetworkerset/index.ts'
import {
  ApplyStatusWriter,
  Controller,
  type EventRecorder,
  type KubeTransport,
  type Leadership,
  type ObjectCache,
  type ObjectKey,
  type WorkQueue,
  type WritableCache,
} from './kube/index.ts'
import { OrderlyEnd } from './orderly-end.ts'

const LOOK_MS = 10

export interface SetTermDeps {
  /** Aborts when the lease is lost. */
  readonly signal: AbortSignal
  readonly time: Time
  readonly random: Random
  readonly log: Log
  readonly transport: KubeTransport
  readonly cache: WritableCache<FleetWorkerSetObject>
  readonly queue: WorkQueue
  /** Looks at every set. */
  readonly requeueAll: () => void
  readonly onSource: (name: SourceName) => void
  readonly workers: ObjectCache<FleetWorkerObject>
  readonly events: EventRecorder
  readonly fleet: Fleet
  readonly leadership: Leadership
  /** Whether a claim is that of an existing FleetWorker or set. */
  readonly isLiveClaim: (claim: string) => boolean
  readonly wasDeletedHere: (claim: string) => boolean
  readonly watches: (namespace: string) => boolean
  readonly scope: WorkerScope
  /** Secrets that Muster itself uses, which are never a source. */
  readonly reserved: ReadonlySet<SourceName>
  /** Runs the work on a key so that its log lines carry the key. */
  readonly within: <T>(key: ObjectKey, inside: () => T) => T
}

export class SetTerm {
  readonly #deps: SetTermDeps
  readonly #status: ApplyStatusWriter<FleetWorkerSetObject, FleetWorkerSetStatus>
  readonly #sources: Sources
  readonly #controller: Controller
  readonly #memory: SetMemory
  readonly #reports: RolloutReports
  readonly #end: OrderlyEnd
  #works: Promise<unknown> | undefined

  constructor(deps: SetTermDeps) {
    this.#deps = deps
    const { cache, log, onSource, queue, random, signal, time, transport, reserved, within } = deps
    this.#memory = new SetMemory(random)
    const { running } = (this.#end = new OrderlyEnd(time, signal))
    this.#status = createStatusWriter(deps)
    this.#sources = new Sources({
      clock: time,
      timers: time,
      log,
      transport,
      reserved,
      resources: () => cache.all(),
      onChange: onSource,
    })
    this.#reports = createReports(deps)
    const reconcileDeps = createReconcileDeps(deps, {
      status: this.#status,
      sources: this.#sources,
      memory: this.#memory,
      reports: this.#reports,
    })
    this.#controller = new Controller({
      queue,
      clock: time,
      timers: time,
      log,
      reconcile: (key) => within(key, () => reconcileSet(key, reconcileDeps, running)),
    })
  }

  /** `undefined` before the term starts working. */
  get controller(): Controller | undefined {
    return this.#works === undefined ? undefined : this.#controller
  }

  /** Whether a write of this status is in flight. */
  isSending(set: FleetWorkerSetObject): boolean {
    return this.#status.isSending(set)
  }

  /** Forgets what the master was sent, because it has lost state. */
  onStateReset(): void {
    this.#memory.clear()
    this.#reports.forget()
  }

  /** Drops pending statuses that report the outage, because the master has recovered. */
  onMasterRecovered(): void {
    this.#status.dropWaiting()
  }

  /** Resolves when the term has ended. */
  async run(): Promise<void> {
    const { cache, requeueAll, time, workers } = this.#deps
    const { ending } = this.#end
    while (!(cache.isSynced && workers.isSynced)) {
      if (ending.aborted) return
      await sleep(time, LOOK_MS, ending)
    }
    requeueAll()
    const { fleet, isLiveClaim, log, watches } = this.#deps
    const clean = keepRulesClean(
      { timers: time, log, rules: fleet.rules, offered: (either) => fleet.offered(either), isLiveClaim, watches },
      ending,
    )
    this.#works = Promise.all([
      this.#controller.run(ending),
      this.#sources.run(ending),
      this.#reports.run(ending),
      clean,
    ])
    await this.#works
  }

  /** Ends the term in order, within 10 s. */
  async end(): Promise<void> {
    await this.#end.end(this.#works, (late) => this.#status.flush(late))
  }
}

function createStatusWriter({
  cache,
  leadership,
  log,
  random,
  signal,
  time,
  transport,
}: SetTermDeps): ApplyStatusWriter<FleetWorkerSetObject, FleetWorkerSetStatus> {
  return new ApplyStatusWriter({
    clock: time,
    timers: time,
    random,
    log,
    transport,
    resource: FLEET_WORKER_SETS,
    fieldManager: FIELD_MANAGER,
    signal,
    cache,
    mayWrite: () => leadership.mayWrite(),
    meaningOf: (status) => status,
  })
}

function createReports({ fleet, isLiveClaim, log, time, watches }: SetTermDeps): RolloutReports {
  return new RolloutReports({
    clock: time,
    timers: time,
    log,
    reports: fleet.reports,
    offered: (signal) => fleet.offered(signal),
    isLiveClaim,
    watches,
  })
}

function createReconcileDeps(
  { cache, events, fleet, leadership, log, scope, time, transport, wasDeletedHere, watches, workers }: SetTermDeps,
  own: Pick<SetDeps, 'status' | 'sources' | 'memory' | 'reports'>,
): SetDeps {
  return {
    ...own,
    cache,
    workers,
    table: fleet,
    revisions: fleet.revisions,
    rules: fleet.rules,
    master: fleet.master,
    transport,
    events,
    leadership,
    wasDeletedHere,
    watches,
    scope,
    clock: time,
    timers: time,
    log,
  }
}
