/**
 * @module storage/memory/worker-records
 * Stores the records of all workers: found by type and id, listed by the bytes of the id. Of forgotten workers it keeps
 * the generation (D46).
 */
import { STATS_FRAMES } from '../../protocol/index.ts'
import { TimerQueue } from './timer-queue.ts'
import { Ring } from './ring.ts'
import { RECORD_OVERHEAD } from './memory-budget.ts'
import { valueOf } from './store.ts'
import { labelOf } from '../index.ts'
import type { ReportedState } from '../../protocol/index.ts'
import type { ConfigRow, Departure, DrainRequest, HistoryRow, Ref, Registration } from '../index.ts'
import type { Timer } from './timer-queue.ts'
import type { Store } from './store.ts'

/** What a drain applies to: one process, one connection, or the process that registers next (D6, D61). */
export type Drain =
  | { readonly kind: 'process'; readonly instance: string }
  | { readonly kind: 'connection'; readonly conn: string }
  | { readonly kind: 'next' }

/** A label, and the generation that it was written for (config-labels.ts). */
interface WrittenLabel {
  readonly revision: string
  readonly variant: string
  readonly gen: number
}

export interface WorkerRecord extends Ref {
  conn: string | null
  ended: boolean
  instance: string
  readonly registeredAt: number
  hardware: string
  labels: string | null
  state: ReportedState
  stateSince: number
  lastSeen: number
  lastError: string | null
  drain: Drain | null
  drainRequest: DrainRequest | null
  departure: Departure | null
  managedBy: string | null
  appliedGen: number | null
  config: ConfigRow
  /** Of the last bulk change, or of the enrolment; `null` if there was none. */
  writtenLabel: WrittenLabel | null
  /** Oldest change first. */
  readonly history: HistoryRow[]
  stats: string | null
  readonly frames: Ring<string>
}

interface OfType {
  readonly records: Map<string, WorkerRecord>
  /** Ordered by the bytes of the id. */
  readonly inOrder: WorkerRecord[]
  readonly forgotten: Map<string, Timer<string>>
  readonly byGen: TimerQueue<string>
}

export class WorkerRecords {
  readonly #store: Store
  readonly #types = new Map<string, OfType>()

  constructor(store: Store) {
    this.#store = store
  }

  find({ type, id }: Ref): WorkerRecord | undefined {
    return this.#types.get(type)?.records.get(id)
  }

  /** Whether the type has its maximum number of records. */
  isFull(type: string): boolean {
    return (this.#types.get(type)?.records.size ?? 0) >= this.#store.limits.workersPerType
  }

  create({ type, id, hardware, labels, defaults, enrolment }: Registration): WorkerRecord {
    const of = valueOf(this.#types, type, () => ({
      records: new Map<string, WorkerRecord>(),
      inOrder: [],
      forgotten: new Map<string, Timer<string>>(),
      byGen: new TimerQueue<string>(),
    }))
    const now = this.#store.now()
    const gen = this.#recall(of, id)
    const record: WorkerRecord = {
      type,
      id,
      conn: null,
      ended: false,
      instance: '',
      registeredAt: now,
      hardware,
      labels: labels ?? null,
      state: 'IDLE',
      stateSince: now,
      lastSeen: now,
      lastError: null,
      drain: null,
      drainRequest: null,
      departure: null,
      managedBy: enrolment?.managedBy ?? null,
      appliedGen: null,
      config: { gen, config: defaults, changedAtMs: null, actor: null },
      writtenLabel: enrolment === undefined ? null : { revision: enrolment.revision, variant: enrolment.variant, gen },
      history: [],
      stats: null,
      frames: new Ring(),
    }
    of.records.set(id, record)
    of.inOrder.splice(placeOf(of.inOrder, id), 0, record)
    this.#store.budget.add(charsOf(record))
    return record
  }

  /** Applies `change` and updates the memory budget by the difference. */
  change(record: WorkerRecord, change: (record: WorkerRecord) => void): void {
    const before = charsOf(record)
    change(record)
    this.#store.budget.add(charsOf(record) - before)
  }

  /** Keeps the newest frames; in a full store the new one alone. */
  addFrame(record: WorkerRecord, frame: string): void {
    while (record.frames.length >= STATS_FRAMES || (this.#store.budget.full && record.frames.length > 0)) {
      this.#store.budget.add(-(record.frames.shift()?.length ?? 0))
    }
    record.frames.push(frame)
    this.#store.budget.add(frame.length)
  }

  forget({ type, id }: Ref): boolean {
    const of = this.#types.get(type)
    const record = of?.records.get(id)
    if (of === undefined || record === undefined) return false
    of.records.delete(id)
    of.inOrder.splice(placeOf(of.inOrder, id), 1)
    let frames = 0
    for (let i = 0; i < record.frames.length; i += 1) frames += record.frames.at(i)?.length ?? 0
    this.#store.budget.add(-charsOf(record) - frames)
    of.forgotten.set(id, of.byGen.add(record.config.gen, id))
    if (of.forgotten.size > this.#store.limits.forgottenPerType) of.forgotten.delete(of.byGen.takeDue(Infinity) ?? '')
    return true
  }

  /** Those after `after` by the bytes of the id. */
  page(type: string, after: string | null, limit: number): readonly WorkerRecord[] {
    const inOrder = this.#types.get(type)?.inOrder ?? []
    const at = after === null ? 0 : placeOf(inOrder, after)
    const start = inOrder[at]?.id === after ? at + 1 : at
    return inOrder.slice(start, start + limit)
  }

  /** The number of workers whose label names each revision. */
  useOf(type: string): ReadonlyMap<string, number> {
    const uses = new Map<string, number>()
    for (const { writtenLabel: label } of this.#types.get(type)?.inOrder ?? [])
      if (label !== null) uses.set(label.revision, (uses.get(label.revision) ?? 0) + 1)
    return uses
  }

  /** 0 for a new worker, above the kept generation for one that returns. */
  #recall(of: OfType, id: string): number {
    const kept = of.forgotten.get(id)
    if (kept === undefined) return 0
    of.forgotten.delete(id)
    of.byGen.cancel(kept)
    return kept.rank + 1
  }
}

/** The label of a record as it reads now. */
export const shownLabel = ({ writtenLabel: label, config }: WorkerRecord): string | null =>
  label && labelOf(label.revision, label.variant, label.gen, config.gen)

function charsOf({ id, hardware, labels, config, history, lastError, stats }: WorkerRecord): number {
  const past = history.reduce((sum, row) => sum + (row.config ?? row.bulk?.patch ?? '').length, 0)
  return (
    4 * RECORD_OVERHEAD +
    id.length +
    hardware.length +
    (labels?.length ?? 0) +
    config.config.length +
    past +
    (lastError?.length ?? 0) +
    (stats?.length ?? 0)
  )
}

/** The index of the first record whose id is not below `id`. */
function placeOf(inOrder: readonly WorkerRecord[], id: string): number {
  let low = 0
  let high = inOrder.length
  while (low < high) {
    const middle = (low + high) >> 1
    const record = inOrder[middle]
    if (record !== undefined && isBelow(record.id, id)) low = middle + 1
    else high = middle
  }
  return low
}

/** Compares by the bytes of UTF-8. JavaScript compares UTF-16, where surrogates stand below U+E000. */
function isBelow(a: string, b: string): boolean {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i += 1) {
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(i)
    if (x !== y) return isSurrogate(x) === isSurrogate(y) || x < 0xd800 || y < 0xd800 ? x < y : isSurrogate(y)
  }
  return a.length < b.length
}

const isSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff
