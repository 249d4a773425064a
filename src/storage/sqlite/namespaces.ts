/**
 * @module storage/sqlite/namespaces
 * Namespaces bounds the number of namespaces of one kind (D100). A namespace has its place while its name is in the
 * table `name`; the names of empty ones are removed when a new namespace finds no place.
 */
import { MAX_NAMESPACES, namespacesFull, RECLAIM_EVERY_MS, type NamespaceKind } from '../index.ts'
import { storageError } from './calls.ts'
import type { FleetError } from '../../protocol/index.ts'
import type { Kind, Names } from './names.ts'
import type { Transaction } from './transaction.ts'

/** Expired rows that a search for empty namespaces removes. */
const MAX_PRUNED = 1_000

/** The error of a call that would add one thing too many to a namespace. */
export function namespaceFull(what: NamespaceKind, namespace: string, bound: number): FleetError {
  return storageError(
    'STORAGE_FULL',
    `the namespace ${JSON.stringify(namespace)} has the maximum of ${bound} ${what}; ` +
      'remove some, or use another namespace',
    'not_sent',
  )
}

interface NamespacesDeps {
  readonly names: Names
  readonly txn: Transaction
  readonly kind: Kind
  readonly what: NamespaceKind
  /** Removes expired rows until they cost `limit` rows. @returns what they cost. */
  readonly prune: (n: number, limit: number) => number
  readonly isEmpty: (n: number) => boolean
  /** The name is removed. */
  readonly onRemove?: (n: number) => void
}

export class Namespaces {
  readonly #deps: NamespacesDeps
  /** Those of automation types, as far as they were written to since the store was opened. */
  readonly #ofTypes = new Set<number>()
  #fullUntilMs = 0

  constructor(deps: NamespacesDeps) {
    this.#deps = deps
  }

  /** @throws {FleetError} STORAGE_FULL where the namespace would be one too many. */
  findOrMake(namespace: string, isOfType: boolean): number {
    const { names, kind, what } = this.#deps
    const isNew = names.find(kind, namespace) === undefined
    if (isNew && !isOfType && !this.#makeRoom())
      throw storageError('STORAGE_FULL', namespacesFull(what, namespace), 'not_sent')
    const n = names.number(kind, namespace)
    if (isOfType) this.#ofTypes.add(n)
    return n
  }

  #makeRoom(): boolean {
    const { names, txn, kind } = this.#deps
    const shared = names.all(kind).filter((n) => !this.#ofTypes.has(n))
    let excess = shared.length - MAX_NAMESPACES + 1
    if (excess > 0 && txn.nowMs < this.#fullUntilMs) return false
    let left = MAX_PRUNED
    for (const n of shared) {
      if (excess <= 0) return true
      left -= left > 0 ? this.#deps.prune(n, left) : 0
      if (!this.#deps.isEmpty(n)) continue
      this.#deps.onRemove?.(n)
      names.remove(kind, n)
      excess -= 1
    }
    if (excess > 0) this.#fullUntilMs = txn.nowMs + RECLAIM_EVERY_MS
    return excess <= 0
  }
}
