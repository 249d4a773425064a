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
 * It also sets the types that the table reads: with configs if a FleetWorker names them. A type that nothing names any
 * more is read until the resync has checked its workers for orphaned claims.
 */
import type { FleetTable, TableChange, TypeReading } from './fleet/index.ts'
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
  readonly #perType = new Map<string, TypeUse>()

  constructor(deps: EventHandlersDeps) {
    this.#deps = deps
  }

  onFleetWorker(change: Change<FleetWorkerObject>, source: 'list' | 'watch'): void {
    this.countType('fleetWorkers', change.before?.spec.type, change.after?.spec.type)
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
    this.#perType.set(type, UNUSED)
    this.#setTypes()
  }

  dropType(type: string): void {
    const use = this.#perType.get(type)
    if (use === undefined || use.fleetWorkers + use.sets > 0) return
    this.#perType.delete(type)
    this.#setTypes()
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

  /** Counts how many objects of a kind name a type, so that its workers are read. */
  countType(kind: keyof TypeUse, before: string | undefined, after: string | undefined): void {
    if (before === after) return
    if (after !== undefined) this.#count(after, kind, 1)
    if (before !== undefined) this.#count(before, kind, -1)
  }

  #count(type: string, kind: keyof TypeUse, by: number): void {
    const before = this.#perType.get(type)
    const after = { ...(before ?? UNUSED), [kind]: (before?.[kind] ?? 0) + by }
    this.#perType.set(type, after)
    if (before === undefined || readingOf(before) !== readingOf(after)) this.#setTypes()
  }

  #setTypes(): void {
    this.#deps.table.setTypes(new Map([...this.#perType].map(([type, use]) => [type, readingOf(use)])))
  }
}

/** How many objects of each kind name a type. */
export interface TypeUse {
  readonly fleetWorkers: number
  readonly sets: number
}

const UNUSED: TypeUse = { fleetWorkers: 0, sets: 0 }
const readingOf = ({ fleetWorkers }: TypeUse): TypeReading => (fleetWorkers > 0 ? 'configs' : 'labels')

const keysOf = (objects: readonly FleetWorkerObject[]): readonly ObjectKey[] =>
  objects.map(({ metadata }) => keyOf(metadata))
