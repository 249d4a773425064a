/** @module storage/memory/operations  Implements `operations` of the contract: the operations of each type by id. */
import { MAX_OPERATIONS, type JsonText } from '../../protocol/index.ts'
import {
  byId,
  type OperationCreateResult,
  type OperationHead,
  type OperationPart,
  type Operations,
  type OperationUpdateResult,
} from '../index.ts'
import type { Sync } from '../index.ts'
import { RECORD_OVERHEAD } from './memory-budget.ts'
import { valueOf, type Store } from './store.ts'

interface Stored {
  readonly version: number
  readonly head: JsonText
  readonly parts: readonly JsonText[]
}

export class MemoryOperations implements Sync<Operations> {
  readonly #store: Store
  readonly #types = new Map<string, Map<string, Stored>>()

  constructor(store: Store) {
    this.#store = store
  }

  create(type: string, id: string, head: JsonText, parts: readonly JsonText[]): OperationCreateResult {
    const operations = valueOf(this.#types, type, () => new Map<string, Stored>())
    if (operations.has(id)) return 'exists'
    if (operations.size >= MAX_OPERATIONS) return 'full'
    this.#put(operations, id, { version: 1, head, parts: [...parts] })
    return 'created'
  }

  update(
    type: string,
    id: string,
    version: number,
    head: JsonText,
    parts: readonly OperationPart[],
  ): OperationUpdateResult {
    const operations = this.#types.get(type)
    const stored = operations?.get(id)
    if (operations === undefined || stored === undefined) return 'not_found'
    if (stored.version !== version) return 'conflict'
    const changed = new Map(parts.map(({ n, text }) => [n, text]))
    const next = stored.parts.map((text, n) => changed.get(n) ?? text)
    this.#put(operations, id, { version: version + 1, head, parts: next })
    return 'updated'
  }

  remove(type: string, id: string): boolean {
    const operations = this.#types.get(type)
    const stored = operations?.get(id)
    if (operations === undefined || stored === undefined) return false
    operations.delete(id)
    this.#store.budget.add(-sizeOf(id, stored))
    return true
  }

  heads(types: readonly string[]): readonly (readonly OperationHead[])[] {
    return types.map((type) =>
      [...(this.#types.get(type) ?? [])].map(([id, { version, head }]) => ({ id, version, head })).toSorted(byId),
    )
  }

  part(type: string, id: string, n: number): JsonText | null {
    return this.#types.get(type)?.get(id)?.parts[n] ?? null
  }

  #put(operations: Map<string, Stored>, id: string, next: Stored): void {
    const stored = operations.get(id)
    const growth = sizeOf(id, next) - (stored === undefined ? 0 : sizeOf(id, stored))
    this.#store.budget.require(growth)
    this.#store.budget.add(growth)
    operations.set(id, next)
  }
}

const sizeOf = (id: string, { head, parts }: Stored): number =>
  RECORD_OVERHEAD + id.length + head.length + parts.reduce((sum, { length }) => sum + RECORD_OVERHEAD + length, 0)
