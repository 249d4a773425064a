/** @module storage/memory/rollouts  Implements `rollouts` of the contract: the reports of each type by name. */
import { MAX_ROLLOUTS, type JsonText } from '../../protocol/index.ts'
import { byName, type RolloutHead, type RolloutPutResult, type RolloutReport, type Rollouts } from '../index.ts'
import type { Sync } from '../index.ts'
import { RECORD_OVERHEAD } from './memory-budget.ts'
import { valueOf, type Store } from './store.ts'

export class MemoryRollouts implements Sync<Rollouts> {
  readonly #store: Store
  readonly #types = new Map<string, Map<string, RolloutReport>>()

  constructor(store: Store) {
    this.#store = store
  }

  put(type: string, { name, head, body, reportedAtMs }: RolloutReport): RolloutPutResult {
    const reports = valueOf(this.#types, type, () => new Map<string, RolloutReport>())
    const stored = reports.get(name)
    if (stored === undefined && reports.size >= MAX_ROLLOUTS) return 'full'
    const report = { name, head, body, reportedAtMs }
    const growth = sizeOf(report) - (stored === undefined ? 0 : sizeOf(stored))
    this.#store.budget.require(growth)
    this.#store.budget.add(growth)
    reports.set(name, report)
    return stored?.head === head ? 'updated' : 'changed'
  }

  remove(type: string, name: string): JsonText | null {
    const reports = this.#types.get(type)
    const stored = reports?.get(name)
    if (reports === undefined || stored === undefined) return null
    reports.delete(name)
    this.#store.budget.add(-sizeOf(stored))
    return stored.head
  }

  list(type: string): readonly RolloutReport[] {
    return [...(this.#types.get(type)?.values() ?? [])].toSorted(byName)
  }

  heads(types: readonly string[]): readonly (readonly RolloutHead[])[] {
    return types.map((type) => this.list(type).map(({ name, head }) => ({ name, head })))
  }
}

const sizeOf = ({ name, head, body }: RolloutReport): number =>
  RECORD_OVERHEAD + name.length + head.length + body.length
