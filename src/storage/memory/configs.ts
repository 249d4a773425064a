/**
 * @module storage/memory/configs
 * Implements `configs` and `stats` of the contract: compare-and-set of configs, their history, and worker statistics.
 */
import { CONFIG_HISTORY_ROWS } from '../../protocol/index.ts'
import {
  timeOfFrame,
  type ConfigPut,
  type ConfigPutResult,
  type ConfigRaiseResult,
  type ConfigRow,
  type Configs,
  type HistoryRow,
  type Ref,
  type StatsHistory,
  type StatsReadResult,
  type Sync,
} from '../index.ts'
import type { Store } from './store.ts'
import type { WorkerRecords } from './worker-records.ts'

/** The most that one call may raise a generation. It keeps a forged generation from using up the numbers. */
const MAX_LEAP = 1_000_000

export class MemoryConfigs implements Sync<Configs> {
  readonly #store: Store
  readonly #records: WorkerRecords

  constructor(store: Store, records: WorkerRecords) {
    this.#store = store
    this.#records = records
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
      record.history.push({ gen, changedAtMs: now, actor, changed: [...changed], config })
      if (record.history.length > CONFIG_HISTORY_ROWS) record.history.shift()
    })
    return { kind: 'stored', gen, conn: record.conn }
  }

  get(refs: readonly Ref[]): readonly (ConfigRow | null)[] {
    return refs.map((ref) => this.#records.find(ref)?.config ?? null)
  }

  history(ref: Ref, limit: number, skip = 0): readonly HistoryRow[] {
    return (this.#records.find(ref)?.history ?? []).toReversed().slice(skip, skip + limit)
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
