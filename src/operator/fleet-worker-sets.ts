/**
 * @module operator/fleet-worker-sets
 * The part of the operator for FleetWorkerSets. Cache, watches and queue live as long as the process, so a standby is
 * warm; what writes belongs to a term (set-term.ts). Events are mapped to the sets of their type:
 *
 *   set changed ───────────────────▶ its key, by what changed; the other sets of the type, which may now own other
 *                                    workers
 *   worker changed ────────────────▶ every set of its type, at most four times a second
 *   FleetWorker created, deleted ──▶ the same: it pins its worker
 *   type listed, schema changed, source changed, master recovered ──▶ the sets concerned
 *
 * The kind may be missing, as after an upgrade of the image alone. Then there are no sets, and the operator works as
 * before.
 */
import type { Registry } from 'prom-client'
import type { Log, Random, Time } from '../runtime/index.ts'
import type { TableChange } from './fleet/index.ts'
import { RECONCILE_ANNOTATION, type FleetWorkerObject, type SourceName } from './fleetworker/index.ts'
import {
  ABORT_ANNOTATION,
  claimForSet,
  FLEET_WORKER_SETS,
  otherSetKeys,
  PROMOTE_ANNOTATION,
  RETRY_ANNOTATION,
  SET_INDICES,
  type FleetWorkerSetObject,
} from './fleetworkerset/index.ts'
import {
  Health,
  keyOf,
  PRIORITY,
  priorityOf,
  WatchLoop,
  WorkQueue,
  WritableCache,
  type Change,
  type KubeTransport,
} from './kube/index.ts'
import { FleetWorkerSetMetrics } from './set-metrics.ts'
import { SetTerm, type SetTermDeps } from './set-term.ts'

/** A change of one of these is as urgent as an edit of the spec. */
const ANNOTATIONS = [RECONCILE_ANNOTATION, PROMOTE_ANNOTATION, ABORT_ANNOTATION, RETRY_ANNOTATION]
/** The least time between two looks because of workers. The first event is looked at immediately. */
const COALESCE_MS = 250
const SET_CLAIM = /^kubernetes:[^/#]+\/fleetworkersets\//

export interface FleetWorkerSetsDeps {
  readonly time: Time
  readonly random: Random
  readonly log: Log
  readonly transport: KubeTransport
  readonly registry: Registry
  /** `undefined`: the whole cluster. */
  readonly namespaces: readonly (string | undefined)[]
  /** Called when a set with this claim was deleted. */
  readonly onDeletedClaim: (claim: string) => void
  /** Counts how many objects name a type, so that its workers are read. */
  readonly countType: (before: string | undefined, after: string | undefined) => void
}

export class FleetWorkerSets {
  readonly #deps: FleetWorkerSetsDeps
  readonly #cache = new WritableCache<FleetWorkerSetObject>(SET_INDICES)
  readonly #queue: WorkQueue
  readonly #watches: readonly WatchLoop<FleetWorkerSetObject>[]
  readonly #health: Health<FleetWorkerSetObject>
  readonly #metrics: FleetWorkerSetMetrics
  /** When the sets of a type are due, or were due last, because of a worker. */
  readonly #dueMs = new Map<string, number>()
  #term: SetTerm | undefined

  constructor(deps: FleetWorkerSetsDeps) {
    this.#deps = deps
    const { time, random } = deps
    this.#queue = new WorkQueue({ clock: time, timers: time, random })
    this.#watches = deps.namespaces.map((namespace) => this.#watch(namespace))
    this.#health = new Health({
      clock: time,
      queue: this.#queue,
      cache: this.#cache,
      watches: this.#watches,
      controller: () => this.#term?.controller,
    })
    this.#metrics = new FleetWorkerSetMetrics({
      registry: deps.registry,
      clock: time,
      objects: () => this.#cache.all(),
    })
  }

  run(signal: AbortSignal): readonly Promise<void>[] {
    return this.#watches.map((watch) => watch.run(signal))
  }

  /** Runs a term of leadership. Resolves when it has ended. */
  async lead(deps: Omit<SetTermDeps, 'cache' | 'queue' | 'requeueAll' | 'onSource'>): Promise<void> {
    const term = new SetTerm({
      ...deps,
      cache: this.#cache,
      queue: this.#queue,
      requeueAll: () => this.requeueAll(),
      onSource: (name) => this.#onSource(name),
    })
    this.#term = term
    await term.run()
    if (this.#term === term) this.#term = undefined
  }

  /** Ends the term in order. */
  async end(): Promise<void> {
    await this.#term?.end()
  }

  /** Stops the timer of the queue. */
  close(): void {
    this.#queue.close()
  }

  /** @returns the stuck components; empty if all are alive. */
  stuck(): readonly string[] {
    return this.#health.stuck()
  }

  /** Stops and continues the queue, as the master is reachable or not. */
  park(reason: string | null): void {
    this.#queue.park(reason)
  }

  /** Looks at every set again, because the master is confirmed unreachable, or has recovered. */
  onOutageChange(isUnavailable: boolean): void {
    if (!isUnavailable) this.#term?.onMasterRecovered()
    this.requeueAll()
  }

  /** Whether a claim is that of an existing set, as far as is known: before the first list every set may exist. */
  isLiveClaim(claim: string): boolean {
    return SET_CLAIM.test(claim) && (!this.#cache.isSynced || this.#cache.byIndex('claim', claim).length > 0)
  }

  onTableChange(change: TableChange): void {
    if (change.kind !== 'state_reset') return this.#lookSoon(change.type)
    this.#term?.onStateReset()
    this.requeueAll()
  }

  onFleetWorker({ before, after }: Change<FleetWorkerObject>): void {
    const isSame = before?.metadata.uid === after?.metadata.uid
    if (isSame && before?.metadata.deletionTimestamp === after?.metadata.deletionTimestamp) return
    const type = (after ?? before)?.spec.type
    if (type !== undefined) this.#lookSoon(type)
  }

  /** Adds every key. Sets whose status is outdated have the priority of an edit. */
  requeueAll(): void {
    for (const after of this.#cache.all()) this.#add({ key: keyOf(after.metadata), before: undefined, after }, 'list')
  }

  #watch(namespace: string | undefined): WatchLoop<FleetWorkerSetObject> {
    const { time, random, log, transport } = this.#deps
    return new WatchLoop({
      clock: time,
      timers: time,
      random,
      log,
      transport,
      cache: this.#cache,
      resource: FLEET_WORKER_SETS,
      namespace,
      onChange: (change, source) => this.#onSet(change, source),
    })
  }

  #onSet(change: Change<FleetWorkerSetObject>, source: 'list' | 'watch'): void {
    const { before, after } = change
    this.#metrics.changed(change, this.#term !== undefined)
    this.#deps.countType(before?.spec.type, after?.spec.type)
    this.#add(change, source)
    const isOther = before?.metadata.uid !== after?.metadata.uid
    if (before !== undefined && isOther) this.#deps.onDeletedClaim(claimForSet(before))
    if (isOther || before?.metadata.generation !== after?.metadata.generation) this.#pushOthers(change)
  }

  #pushOthers({ key, before, after }: Change<FleetWorkerSetObject>): void {
    const type = (after ?? before)?.spec.type ?? ''
    for (const other of otherSetKeys(type, key, this.#cache)) this.#queue.add(other, PRIORITY.event)
  }

  #onSource(name: SourceName): void {
    for (const { metadata } of this.#cache.byIndex('source', name)) this.#queue.add(keyOf(metadata), PRIORITY.event)
  }

  #add(change: Change<FleetWorkerSetObject>, source: 'list' | 'watch'): void {
    const isOurs = (set: FleetWorkerSetObject): boolean => this.#term?.isSending(set) === true
    const priority = priorityOf(change, source, { annotations: ANNOTATIONS, isOurs })
    if (priority !== undefined) this.#queue.add(change.key, priority)
  }

  #lookSoon(type: string): void {
    const nowMs = this.#deps.time.monotonicMs()
    const lastMs = this.#dueMs.get(type) ?? -Infinity
    const dueMs = lastMs > nowMs ? lastMs : Math.max(nowMs, lastMs + COALESCE_MS)
    this.#dueMs.set(type, dueMs)
    // Also if it was added before: a look for another reason cancels it.
    for (const { metadata } of this.#cache.byIndex('type', type))
      this.#queue.addAfter(keyOf(metadata), dueMs - nowMs, PRIORITY.event)
  }
}
