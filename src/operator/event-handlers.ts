/**
 * @module operator/event-handlers
 * Maps changes of watched objects to keys in the work queue. Handlers only add keys: more work here would run out of
 * order.
 *
 *   FleetWorker changed (watch, list) ──▶ its key, by what changed; keys of its rivals when it was created, deleted, or
 *                                         became applicable or inapplicable
 *   worker changed at the master ──────▶ every FleetWorker of that worker: 50; with an edit in progress: 110;
 *                                        with a pending status write: 90, so that one write carries the latest state
 *   first list of a type complete ─────▶ every FleetWorker of it whose worker is not registered: 50
 *   type, schema, rights changed ──────▶ every FleetWorker of the type: 50
 *   Secret or ConfigMap changed ───────▶ every FleetWorker that reads it: 50
 *   master lost its state, recovered, or was unreachable for a minute; a term begins ──▶ all: -100, unseen edits 100
 *
 * It also sets the types that the table reads. A type that no FleetWorker names any more is read until the resync has
 * checked its workers for orphaned claims.
 */
import type { FleetTable, TableChange } from './fleet/index.ts'
import {
  RECONCILE_ANNOTATION,
  rivalKeys,
  targetOf,
  workerOf,
  type FleetWorkerObject,
  type Permits,
  type SourceName,
} from './fleetworker/index.ts'
import {
  isBehind,
  keyOf,
  PRIORITY,
  priorityOf,
  type Change,
  type ObjectCache,
  type ObjectKey,
  type Priority,
  type WorkQueue,
} from './kube/index.ts'

export interface EventHandlersDeps {
  readonly queue: Pick<WorkQueue, 'add'>
  readonly cache: ObjectCache<FleetWorkerObject>
  readonly table: Pick<FleetTable, 'setTypes' | 'isRegistered'>
  readonly permits: Permits
  /** Whether a write of this status is in flight. */
  readonly isOurs: (object: FleetWorkerObject) => boolean
  /** Whether a write of its status is pending. */
  readonly isReporting: (object: FleetWorkerObject) => boolean
}

export class EventHandlers {
  readonly #deps: EventHandlersDeps
  readonly #perType = new Map<string, number>()

  constructor(deps: EventHandlersDeps) {
    this.#deps = deps
  }

  onFleetWorker(change: Change<FleetWorkerObject>, source: 'list' | 'watch'): void {
    this.countType(change.before?.spec.type, change.after?.spec.type)
    this.#add(change, source)
    this.#push(rivalKeys(change, this.#deps.cache, this.#deps.permits))
  }

  onTableChange(change: TableChange): void {
    const { cache, table } = this.#deps
    if (change.kind === 'worker') this.#workerChanged(cache.byIndex('target', targetOf(change.type, change.workerId)))
    else if (change.kind === 'type') this.#push(keysOf(this.#ofType(change.type)))
    else if (change.kind === 'listed')
      this.#push(
        keysOf(this.#ofType(change.type).filter((each) => !table.isRegistered(change.type, workerOf(each).workerId))),
      )
    else this.requeueAll()
  }

  onSource(name: SourceName): void {
    this.#push(keysOf(this.#deps.cache.byIndex('source', name)))
  }

  /** Types that FleetWorkers or sets name or have named, and the type that the resync visits. */
  get types(): Iterable<string> {
    return this.#perType.keys()
  }

  readType(type: string): void {
    if (this.#perType.has(type)) return
    this.#perType.set(type, 0)
    this.#deps.table.setTypes(this.types)
  }

  dropType(type: string): void {
    if (this.#perType.get(type) !== 0) return
    this.#perType.delete(type)
    this.#deps.table.setTypes(this.types)
  }

  /** Adds every key with the priority of a resync. Objects whose status is outdated keep the priority of an edit. */
  requeueAll(): void {
    for (const after of this.#deps.cache.all())
      this.#add({ key: keyOf(after.metadata), before: undefined, after }, 'list')
  }

  #add(change: Change<FleetWorkerObject>, source: 'list' | 'watch'): void {
    const { isOurs, queue } = this.#deps
    const priority = priorityOf(change, source, { annotations: [RECONCILE_ANNOTATION], isOurs })
    if (priority !== undefined) queue.add(change.key, priority)
  }

  #ofType(type: string): readonly FleetWorkerObject[] {
    return [...this.#deps.cache.all()].filter(({ spec }) => spec.type === type)
  }

  #workerChanged(objects: readonly FleetWorkerObject[]): void {
    for (const object of objects) this.#deps.queue.add(keyOf(object.metadata), this.#workerPriority(object))
  }

  #workerPriority(object: FleetWorkerObject): Priority {
    if (isBehind(object)) return PRIORITY.followUp
    return this.#deps.isReporting(object) ? PRIORITY.pendingStatus : PRIORITY.event
  }

  #push(keys: readonly ObjectKey[]): void {
    for (const key of keys) this.#deps.queue.add(key, PRIORITY.event)
  }

  /** Counts how many objects name a type, so that its workers are read. */
  countType(before: string | undefined, after: string | undefined): void {
    if (before === after) return
    const known = this.#perType.size
    if (after !== undefined) this.#perType.set(after, (this.#perType.get(after) ?? 0) + 1)
    if (before !== undefined) this.#perType.set(before, (this.#perType.get(before) ?? 0) - 1)
    if (this.#perType.size !== known) this.#deps.table.setTypes(this.types)
  }
}

const keysOf = (objects: readonly FleetWorkerObject[]): readonly ObjectKey[] =>
  objects.map(({ metadata }) => keyOf(metadata))
