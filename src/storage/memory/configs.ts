/**
 * @module storage/memory/configs
 * Implements `configs` and `stats` of the contract: compare-and-set of configs, their history, and worker statistics.
 */
import { CONFIG_HISTORY_ROWS } from '../../protocol/index.ts'
import {
  timeOfFrame,
  type BulkChange,
  type BulkConfig,
  type BulkPut,
  type BulkPutResult,
  type ConfigPut,
  type ConfigPutResult,
  type ConfigRaiseResult,
  type Configs,
  type HistoryRow,
  type ManagedConfigRow,
  type Ref,
  type StatsHistory,
  type StatsReadResult,
  type Sync,
} from '../index.ts'
import type { MemoryRevisions } from './revisions.ts'
import type { Store } from './store.ts'
import { shownLabel } from './worker-records.ts'
import type { WorkerRecord, WorkerRecords } from './worker-records.ts'

/** The most that one call may raise a generation. It keeps a forged generation from using up the numbers. */
const MAX_LEAP = 1_000_000

export class MemoryConfigs implements Sync<Configs> {
  readonly #store: Store
  readonly #records: WorkerRecords
  readonly #revisions: MemoryRevisions

  constructor(store: Store, records: WorkerRecords, revisions: MemoryRevisions) {
    this.#store = store
    this.#records = records
    this.#revisions = revisions
  }

  put({ type, id, expectGen, expectConfig, config, changed, actor }: ConfigPut): ConfigPutResult {
    const record = this.#records.find({ type, id })
    if (record === undefined) return { kind: 'not_found' }
    const isExpected =
      record.config.gen === expectGen && (expectConfig ?? record.config.config) === record.config.config
    if (!isExpected) return { kind: 'conflict', current: record.config }
    this.#store.budget.require(2 * config.length)
    const gen = expectGen + 1
    const now = this.#store.now()
    this.#records.change(record, () => {
      record.config = { gen, config, changedAtMs: now, actor }
      this.#remember(record, { gen, changedAtMs: now, actor, changed: [...changed], config })
    })
    return { kind: 'stored', gen, conn: record.conn }
  }

  get(refs: readonly Ref[]): readonly (ManagedConfigRow | null)[] {
    return refs.map((ref) => {
      const record = this.#records.find(ref)
      if (record === undefined) return null
      return { ...record.config, configRevision: shownLabel(record), managedBy: record.managedBy }
    })
  }

  putMany(type: string, bulk: BulkChange, puts: readonly BulkPut[]): readonly BulkPutResult[] {
    if (!this.#revisions.has(type, bulk.revision)) return puts.map(() => ({ kind: 'unknown_revision' }))
    this.#store.budget.require(puts.reduce((sum, { change }) => sum + sizeOf(change), 0))
    const results = puts.map((put) => this.#putOne(type, bulk, put))
    if (results.some(({ kind }) => kind === 'stored')) this.#revisions.use(type, bulk.revision)
    return results
  }

  history(ref: Ref, limit: number, skip = 0): readonly HistoryRow[] {
    return (this.#records.find(ref)?.history ?? []).toReversed().slice(skip, skip + limit)
  }

  #putOne(type: string, { revision, managedBy, actor }: BulkChange, put: BulkPut): BulkPutResult {
    const { id, expectGen, variant, change } = put
    const record = this.#records.find({ type, id })
    if (record === undefined) return { kind: 'not_found' }
    const { config } = record
    const isExpected =
      config.gen === expectGen && config.config === put.expectConfig && record.managedBy === put.expectManagedBy
    if (!isExpected && this.#store.safeguards.bulkCompare) return { kind: 'conflict' }
    const gen = change === null ? config.gen : config.gen + 1
    const changedAtMs = this.#store.now()
    this.#records.change(record, () => {
      record.writtenLabel = { revision, variant, gen }
      record.managedBy = managedBy ?? record.managedBy
      if (change === null) return
      record.config = { gen, config: change.config, changedAtMs, actor }
      const bulk = { revision, patch: change.patch }
      this.#remember(record, { gen, changedAtMs, actor, changed: [...change.changed], config: null, bulk })
    })
    return { kind: 'stored', gen, conn: record.conn }
  }

  #remember(record: WorkerRecord, row: HistoryRow): void {
    record.history.push(row)
    if (record.history.length > CONFIG_HISTORY_ROWS) record.history.shift()
  }

  raise(items: readonly (Ref & { readonly above: number })[]): readonly ConfigRaiseResult[] {
    return items.map((item) => {
      const record = this.#records.find(item)
      if (record === undefined) return { kind: 'not_found' }
      const gen = Math.max(record.config.gen, item.above + 1)
      if (gen - record.config.gen > MAX_LEAP) return { kind: 'too_far' }
      record.config = { ...record.config, gen }
      return { kind: 'raised', gen, conn: record.conn }
    })
  }
}

const sizeOf = (change: BulkConfig | null): number => (change === null ? 0 : change.config.length + change.patch.length)

export class MemoryStats implements Sync<StatsHistory> {
  readonly #records: WorkerRecords

  constructor(records: WorkerRecords) {
    this.#records = records
  }

  read(ref: Ref, sinceSeconds: number, limit: number): StatsReadResult {
    const record = this.#records.find(ref)
    if (record === undefined) return { kind: 'not_found' }
    const newest: string[] = []
    for (let i = record.frames.length - 1; i >= 0 && newest.length < limit; i -= 1) {
      const frame = record.frames.at(i)
      if (frame !== undefined && timeOfFrame(frame) >= sinceSeconds) newest.push(frame)
    }
    return { kind: 'frames', frames: newest.toReversed() }
  }
}
