/**
 * @module storage/sqlite/engine-kv
 * SqliteKv keeps key-value pairs. A key that has expired counts as absent; its row is removed when its namespace is
 * full or when the store is idle.
 */
import { MAX_KV_VALUE_BYTES } from '../../protocol/index.ts'
import type { Kv, Sync } from '../index.ts'
import { storageError } from './calls.ts'
import type { Database } from './driver.ts'
import type { EngineDeps } from './engine-deps.ts'
import { KIND, type Names } from './names.ts'
import { namespaceFull, Namespaces } from './namespaces.ts'
import { pruneCost } from './prune-cost.ts'
import { Sizes } from './sizes.ts'
import type { Transaction } from './transaction.ts'

const MAX_KEYS = 100_000
/** What a set in a full namespace frees. */
const PRUNED_FOR_A_KEY = 1_000

interface KvItem {
  readonly key: string
  readonly value: string
  readonly ttlMs: number | null
}

function statementsOf(db: Database) {
  return {
    read: db.prepare<[number, string], { v: string; expires: number | null }>(
      'SELECT v, expires FROM kv WHERE ns = ? AND k = ?',
    ),
    write: db.prepare<[number, string, string, number | null]>(
      `INSERT INTO kv(ns, k, v, expires) VALUES(?, ?, ?, ?) ON CONFLICT(ns, k)
        DO UPDATE SET v = excluded.v, expires = excluded.expires`,
    ),
    remove: db.prepare<[number, string]>('DELETE FROM kv WHERE ns = ? AND k = ?'),
    expired: db.prepare<[number, number, number], { k: string; bytes: number }>(
      'SELECT k, octet_length(v) AS bytes FROM kv WHERE ns = ? AND expires <= ? LIMIT ?',
    ),
    any: db.prepare<[number], number>('SELECT 1 FROM kv WHERE ns = ? LIMIT 1').pluck(),
  }
}

export class SqliteKv implements Sync<Kv> {
  readonly #txn: Transaction
  readonly #names: Names
  readonly #sizes: Sizes
  readonly #namespaces: Namespaces
  readonly #sql: ReturnType<typeof statementsOf>

  constructor({ db, txn, names }: EngineDeps) {
    this.#txn = txn
    this.#names = names
    this.#sizes = new Sizes(db, txn, 'SELECT count(*) FROM kv WHERE ns = ?')
    this.#sql = statementsOf(db)
    this.#namespaces = new Namespaces({
      names,
      txn,
      kind: KIND.kv,
      what: 'keys',
      prune: (ns, limit) => this.#prune(ns, limit),
      isEmpty: (ns) => this.#sql.any.get(ns) === undefined,
    })
  }

  get(namespace: string, keys: readonly string[]): readonly (string | null)[] {
    const ns = this.#names.find(KIND.kv, namespace)
    return keys.map((key) => {
      const row = ns === undefined ? undefined : this.#sql.read.get(ns, key)
      return row === undefined || this.#hasExpired(row) ? null : row.v
    })
  }

  set(namespace: string, items: readonly KvItem[], isOfType = false): void {
    const tooLarge = items.find(({ value }) => Buffer.byteLength(value) > MAX_KV_VALUE_BYTES)
    if (tooLarge !== undefined)
      throw storageError(
        'STORAGE_FULL',
        `the value of ${JSON.stringify(tooLarge.key)} is larger than 256 KiB; keep it elsewhere, and a link to it here`,
        'not_sent',
      )
    const ns = this.#namespaces.findOrMake(namespace, isOfType)
    for (const item of items) this.#set(namespace, ns, item)
  }

  delete(namespace: string, keys: readonly string[]): readonly boolean[] {
    const ns = this.#names.find(KIND.kv, namespace)
    return keys.map((key) => {
      const row = ns === undefined ? undefined : this.#sql.read.get(ns, key)
      if (ns === undefined || row === undefined) return false
      this.#sizes.add(ns, -1)
      this.#sql.remove.run(ns, key)
      return !this.#hasExpired(row)
    })
  }

  /** Removes expired keys that cost about `limit` rows. @returns what they cost. */
  prune(limit: number): number {
    let left = limit
    for (const ns of this.#names.all(KIND.kv)) if (left > 0) left -= this.#prune(ns, left)
    return limit - left
  }

  #set(namespace: string, ns: number, { key, value, ttlMs }: KvItem): void {
    if (this.#sql.read.get(ns, key) === undefined) {
      const isFull = this.#sizes.of(ns) >= MAX_KEYS && this.#prune(ns, PRUNED_FOR_A_KEY) === 0
      if (isFull) throw namespaceFull('keys', namespace, MAX_KEYS)
      this.#sizes.add(ns, 1)
    }
    this.#sql.write.run(ns, key, value, ttlMs === null ? null : this.#txn.nowMs + ttlMs)
  }

  #prune(ns: number, limit: number): number {
    let cost = 0
    for (const { k, bytes } of this.#sql.expired.all(ns, this.#txn.nowMs, limit)) {
      if (cost >= limit) break
      this.#sizes.add(ns, -1)
      this.#sql.remove.run(ns, k)
      cost += pruneCost(bytes)
    }
    return cost
  }

  #hasExpired({ expires }: { readonly expires: number | null }): boolean {
    return expires !== null && expires <= this.#txn.nowMs
  }
}
