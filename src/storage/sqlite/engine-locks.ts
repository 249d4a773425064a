/**
 * @module storage/sqlite/engine-locks
 * SqliteLocks keeps locks. A lock is held by its newest token until its hold has ended; its row is removed when its
 * namespace is full or when the store is idle.
 */
import { EXTEND_LOST, type ExtendHoldResult, type LockResult, type Locks, type Sync } from '../index.ts'
import type { Database } from './driver.ts'
import type { EngineDeps } from './engine-deps.ts'
import type { TokenSequences } from './token-sequences.ts'
import { KIND, type Names } from './names.ts'
import { namespaceFull, Namespaces } from './namespaces.ts'
import { Sizes } from './sizes.ts'
import type { Transaction } from './transaction.ts'

const MAX_LOCKS = 10_000
/** What an acquire in a full namespace frees. */
const PRUNED_FOR_A_LOCK = 1_000

interface LockRow {
  readonly token: number
  readonly until: number
}
interface LockRequest {
  readonly name: string
  readonly owner: string
  readonly holdMs: number
}
interface LockToken {
  readonly name: string
  readonly token: number
}

function statementsOf(db: Database) {
  return {
    read: db.prepare<[number, string], LockRow>('SELECT token, until FROM lock WHERE ns = ? AND name = ?'),
    write: db.prepare<[number, string, number, number, string]>(
      `INSERT INTO lock(ns, name, token, until, owner) VALUES(?, ?, ?, ?, ?)
        ON CONFLICT(ns, name) DO UPDATE SET token = excluded.token, until = excluded.until, owner = excluded.owner`,
    ),
    prolong: db.prepare<[number, number, string]>('UPDATE lock SET until = ? WHERE ns = ? AND name = ?'),
    remove: db.prepare<[number, string]>('DELETE FROM lock WHERE ns = ? AND name = ?'),
    ended: db
      .prepare<[number, number, number], string>('SELECT name FROM lock WHERE ns = ? AND until <= ? LIMIT ?')
      .pluck(),
    any: db.prepare<[number], number>('SELECT 1 FROM lock WHERE ns = ? LIMIT 1').pluck(),
  }
}

export class SqliteLocks implements Sync<Locks> {
  readonly #txn: Transaction
  readonly #names: Names
  readonly #sequences: TokenSequences
  readonly #sizes: Sizes
  readonly #namespaces: Namespaces
  readonly #sql: ReturnType<typeof statementsOf>

  constructor({ db, txn, names, sequences }: EngineDeps) {
    this.#txn = txn
    this.#names = names
    this.#sequences = sequences
    this.#sizes = new Sizes(db, txn, 'SELECT count(*) FROM lock WHERE ns = ?')
    this.#sql = statementsOf(db)
    this.#namespaces = new Namespaces({
      names,
      txn,
      kind: KIND.lock,
      what: 'locks',
      prune: (ns, limit) => this.#prune(ns, limit),
      isEmpty: (ns) => this.#sql.any.get(ns) === undefined && sequences.isPast(ns),
      onRemove: (ns) => sequences.remove(ns),
    })
  }

  acquire(namespace: string, items: readonly LockRequest[], isOfType = false): readonly LockResult[] {
    const ns = this.#namespaces.findOrMake(namespace, isOfType)
    return items.map((item) => this.#acquire(namespace, ns, item))
  }

  extend(namespace: string, items: readonly (LockToken & { readonly holdMs: number })[]): readonly ExtendHoldResult[] {
    const ns = this.#names.find(KIND.lock, namespace)
    return items.map((item) => {
      const held = this.#held(ns, item)
      if (ns === undefined || held === undefined) return EXTEND_LOST.lease_lost
      const until = Math.max(held.until, this.#txn.nowMs + item.holdMs)
      this.#sql.prolong.run(until, ns, item.name)
      return { kind: 'extended', expiresAtMs: until }
    })
  }

  release(namespace: string, items: readonly LockToken[]): readonly ('ok' | 'lease_lost')[] {
    const ns = this.#names.find(KIND.lock, namespace)
    return items.map((item) => {
      if (ns === undefined || this.#held(ns, item) === undefined) return 'lease_lost'
      this.#sizes.add(ns, -1)
      this.#sql.remove.run(ns, item.name)
      return 'ok'
    })
  }

  /** Removes locks whose hold has ended. @returns how many, at most `limit`. */
  prune(limit: number): number {
    let left = limit
    for (const ns of this.#names.all(KIND.lock)) if (left > 0) left -= this.#prune(ns, left)
    return limit - left
  }

  #acquire(namespace: string, ns: number, { name, owner, holdMs }: LockRequest): LockResult {
    const { nowMs } = this.#txn
    const row = this.#sql.read.get(ns, name)
    if (row !== undefined && row.until > nowMs) return { kind: 'held', untilMs: row.until }
    if (row === undefined) {
      const isFull = this.#sizes.of(ns) >= MAX_LOCKS && this.#prune(ns, PRUNED_FOR_A_LOCK) === 0
      if (isFull) throw namespaceFull('locks', namespace, MAX_LOCKS)
      this.#sizes.add(ns, 1)
    }
    const token = this.#sequences.issue(this.#sequences.change(ns))
    const until = nowMs + holdMs
    this.#sql.write.run(ns, name, token, until, owner)
    return { kind: 'acquired', token, expiresAtMs: until }
  }

  /** The lock, if `token` holds it now. */
  #held(ns: number | undefined, { name, token }: LockToken): LockRow | undefined {
    const row = ns === undefined ? undefined : this.#sql.read.get(ns, name)
    return row?.token === token && row.until > this.#txn.nowMs ? row : undefined
  }

  #prune(ns: number, limit: number): number {
    const ended = this.#sql.ended.all(ns, this.#txn.nowMs, limit)
    if (ended.length > 0) this.#sizes.add(ns, -ended.length)
    for (const name of ended) this.#sql.remove.run(ns, name)
    return ended.length
  }
}
