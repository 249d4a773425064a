/**
 * @module storage/memory/revisions
 * Implements `revisions` of the contract: named configs that never change. The records of the workers and the enrolment
 * rules say which ones are in use.
 */
import { KEPT_REVISIONS, MAX_REVISIONS } from '../../protocol/index.ts'
import { addToTally } from '../index.ts'
import type { NewRevision, RevisionPutResult, RevisionRow, Revisions, Sync, TallyIncrement } from '../index.ts'
import { RECORD_OVERHEAD } from './memory-budget.ts'
import { valueOf, type Store } from './store.ts'
import type { MemoryEnrolments } from './enrolments.ts'
import type { WorkerRecords } from './worker-records.ts'

interface Revision extends NewRevision {
  readonly createdAtMs: number
  firstUsedAtMs: number | null
  lastUsedAtMs: number | null
  readonly tally: Map<string, number>
}

export class MemoryRevisions implements Sync<Revisions> {
  readonly #store: Store
  readonly #records: WorkerRecords
  readonly #enrolments: MemoryEnrolments
  /** By type and name, oldest first. */
  readonly #types = new Map<string, Map<string, Revision>>()

  constructor(store: Store, records: WorkerRecords, enrolments: MemoryEnrolments) {
    this.#store = store
    this.#records = records
    this.#enrolments = enrolments
  }

  put(type: string, revision: NewRevision): RevisionPutResult {
    const stored = valueOf(this.#types, type, () => new Map<string, Revision>())
    if (stored.has(revision.name)) return 'exists'
    const dropped = this.#unneeded(type, stored)
    if (stored.size - dropped.length >= MAX_REVISIONS) return 'full'
    this.#store.budget.require(configSize(revision))
    for (const old of dropped) {
      stored.delete(old.name)
      this.#store.budget.add(-sizeOf(old))
    }
    const { name, config, managedBy, actor } = revision
    const createdAtMs = this.#store.now()
    const unused = { firstUsedAtMs: null, lastUsedAtMs: null, tally: new Map<string, number>() }
    stored.set(name, { name, config, managedBy, actor, createdAtMs, ...unused })
    this.#store.budget.add(configSize(revision))
    return 'stored'
  }

  get(type: string, names: readonly string[]): readonly (string | null)[] {
    return names.map((name) => this.#types.get(type)?.get(name)?.config ?? null)
  }

  list(type: string): readonly RevisionRow[] {
    const uses = this.#records.useOf(type)
    return [...(this.#types.get(type)?.values() ?? [])].toReversed().map(({ config: _config, tally, ...row }) => ({
      ...row,
      workers: uses.get(row.name) ?? 0,
      tally: Object.fromEntries(tally),
    }))
  }

  addTallies(type: string, increments: readonly TallyIncrement[]): void {
    for (const { revision: name, counters } of increments) {
      const revision = this.#types.get(type)?.get(name)
      if (revision === undefined) continue
      const before = sizeOf(revision)
      addToTally(revision.tally, counters)
      this.#store.budget.add(sizeOf(revision) - before)
    }
  }

  has(type: string, name: string): boolean {
    return this.#types.get(type)?.has(name) === true
  }

  /** Records that workers were brought to the revision. */
  use(type: string, name: string): void {
    const revision = this.#types.get(type)?.get(name)
    if (revision === undefined) return
    revision.lastUsedAtMs = this.#store.now()
    revision.firstUsedAtMs ??= revision.lastUsedAtMs
  }

  /** Those that are neither in use nor among the newest, once one more is stored. */
  #unneeded(type: string, stored: ReadonlyMap<string, Revision>): readonly Revision[] {
    const uses = this.#records.useOf(type)
    const old = [...stored.values()].slice(0, Math.max(0, stored.size + 1 - KEPT_REVISIONS))
    return old.filter(({ name }) => !uses.has(name) && !this.#enrolments.uses(type, name))
  }
}

const NUMBER_CHARS = 8

const configSize = ({ name, config }: NewRevision): number => RECORD_OVERHEAD + name.length + config.length

function sizeOf(revision: Revision): number {
  let size = configSize(revision)
  for (const counter of revision.tally.keys()) size += counter.length + NUMBER_CHARS
  return size
}
