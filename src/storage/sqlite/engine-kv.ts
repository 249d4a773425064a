/**
 * @module storage/sqlite/engine-kv
 * Keys, counters and locks in the database. A key whose time has passed counts as absent and goes when it is met, when
 * its namespace is full, or when the store is idle. A lock is held by its newest token until its hold has passed.
 */
import { MAX_KV_VALUE_BYTES } from '../../protocol/index.ts'
import { storageError, type Sync } from './calls.ts'
import type { Counters, Kv, Locks } from '../index.ts'
import type { Database } from './driver.ts'
import type { Fences } from './fences.ts'
import { KIND, type Names } from './names.ts'
import { Sizes } from './sizes.ts'
import type { Transaction } from './transaction.ts'

const MAX_KEYS = 100_000
const MAX_LOCKS = 10_000
const MAX_COUNTERS = 10_000

const full = (what: string, namespace: string, bound: number): Error =>
  storageError(
    'STORAGE_FULL',
    `the namespace ${JSON.stringify(namespace)} holds ${bound} ${what}, which is the most; remove some, or use another namespace`,
    'not_sent',
  )

export function kvOf(db: Database, txn: Transaction, names: Names): Sync<Kv> & { prune(limit: number): number } {
  const read = db.prepare<[number, string], { v: string; expires: number | null }>(
    'SELECT v, expires FROM kv WHERE ns = ? AND k = ?',
  )
  const write = db.prepare<[number, string, string, number | null]>(
    'INSERT INTO kv(ns, k, v, expires) VALUES(?, ?, ?, ?) ON CONFLICT(ns, k) DO UPDATE SET v = excluded.v, expires = excluded.expires',
  )
  const remove = db.prepare<[number, string]>('DELETE FROM kv WHERE ns = ? AND k = ?')
  const expired = db
    .prepare<[number, number, number], string>('SELECT k FROM kv WHERE ns = ? AND expires <= ? LIMIT ?')
    .pluck()
  const sizes = new Sizes(db, txn, 'SELECT count(*) FROM kv WHERE ns = ?')

  function forget(ns: number, limit: number): number {
    const keys = expired.all(ns, txn.nowMs, limit)
    if (keys.length > 0) sizes.add(ns, -keys.length)
    for (const key of keys) remove.run(ns, key)
    return keys.length
  }
  function put(namespace: string, ns: number, { key, value, ttlMs }: Parameters<Kv['set']>[1][number]): void {
    if (read.get(ns, key) === undefined) {
      if (sizes.of(ns) >= MAX_KEYS && forget(ns, 1_000) === 0) throw full('keys', namespace, MAX_KEYS)
      sizes.add(ns, 1)
    }
    write.run(ns, key, value, ttlMs === null ? null : txn.nowMs + ttlMs)
  }
  return {
    get(namespace, keys) {
      const ns = names.find(KIND.kv, namespace)
      return keys.map((key) => {
        const row = ns === undefined ? undefined : read.get(ns, key)
        return row === undefined || (row.expires !== null && row.expires <= txn.nowMs) ? null : row.v
      })
    },
    set(namespace, items) {
      for (const { key, value } of items) {
        if (Buffer.byteLength(value) > MAX_KV_VALUE_BYTES)
          throw storageError(
            'STORAGE_FULL',
            `the value of ${JSON.stringify(key)} is larger than 256 KiB; keep it elsewhere, and a link to it here`,
            'not_sent',
          )
      }
      const ns = names.number(KIND.kv, namespace)
      for (const item of items) put(namespace, ns, item)
    },
    delete(namespace, keys) {
      const ns = names.find(KIND.kv, namespace)
      return keys.map((key) => {
        const row = ns === undefined ? undefined : read.get(ns, key)
        if (ns === undefined || row === undefined) return false
        sizes.add(ns, -1)
        remove.run(ns, key)
        return row.expires === null || row.expires > txn.nowMs
      })
    },
    prune(limit) {
      let left = limit
      for (const ns of names.all(KIND.kv)) left -= left > 0 ? forget(ns, left) : 0
      return limit - left
    },
  }
}

export function countersOf(db: Database, txn: Transaction, names: Names): Sync<Counters> {
  const read = db.prepare<[number, string], number>('SELECT v FROM counter WHERE ns = ? AND name = ?').pluck()
  const write = db.prepare<[number, string, number]>(
    'INSERT INTO counter(ns, name, v) VALUES(?, ?, ?) ON CONFLICT(ns, name) DO UPDATE SET v = excluded.v',
  )
  const sizes = new Sizes(db, txn, 'SELECT count(*) FROM counter WHERE ns = ?')

  function add(namespace: string, ns: number, name: string, delta: number): number | 'out_of_range' {
    const known = read.get(ns, name)
    const sum = (known ?? 0) + delta
    if (!Number.isSafeInteger(sum)) return 'out_of_range'
    if (known === undefined) {
      if (sizes.of(ns) >= MAX_COUNTERS) throw full('counters', namespace, MAX_COUNTERS)
      sizes.add(ns, 1)
    }
    write.run(ns, name, sum)
    return sum
  }
  return {
    add(namespace, items) {
      const ns = names.number(KIND.counter, namespace)
      return items.map(({ name, delta }) => add(namespace, ns, name, delta))
    },
    get(namespace, wanted) {
      const ns = names.find(KIND.counter, namespace)
      return wanted.map((name) => (ns === undefined ? 0 : (read.get(ns, name) ?? 0)))
    },
  }
}

interface LockRow {
  readonly token: number
  readonly until: number
}

export function locksOf(db: Database, txn: Transaction, names: Names, fences: Fences): Sync<Locks> {
  const read = db.prepare<[number, string], LockRow>('SELECT token, until FROM lock WHERE ns = ? AND name = ?')
  const write = db.prepare<
    [number, string, number, number, string]
  >(`INSERT INTO lock(ns, name, token, until, owner) VALUES(?, ?, ?, ?, ?)
    ON CONFLICT(ns, name) DO UPDATE SET token = excluded.token, until = excluded.until, owner = excluded.owner`)
  const prolong = db.prepare<[number, number, string]>('UPDATE lock SET until = ? WHERE ns = ? AND name = ?')
  const remove = db.prepare<[number, string]>('DELETE FROM lock WHERE ns = ? AND name = ?')
  const passed = db
    .prepare<[number, number], string>('SELECT name FROM lock WHERE ns = ? AND until <= ? LIMIT 1000')
    .pluck()
  const sizes = new Sizes(db, txn, 'SELECT count(*) FROM lock WHERE ns = ?')

  function forget(ns: number): number {
    const gone = passed.all(ns, txn.nowMs)
    if (gone.length > 0) sizes.add(ns, -gone.length)
    for (const name of gone) remove.run(ns, name)
    return gone.length
  }
  function acquire(
    namespace: string,
    ns: number,
    { name, owner, holdMs }: Parameters<Locks['acquire']>[1][number],
  ): { token: number; until: number } | { heldUntil: number } {
    const held = read.get(ns, name)
    if (held !== undefined && held.until > txn.nowMs) return { heldUntil: held.until }
    if (held === undefined) {
      if (sizes.of(ns) >= MAX_LOCKS && forget(ns) === 0) throw full('locks', namespace, MAX_LOCKS)
      sizes.add(ns, 1)
    }
    const token = fences.issue(fences.change(ns))
    const until = txn.nowMs + holdMs
    write.run(ns, name, token, until, owner)
    return { token, until }
  }
  /** The lock that `token` holds, its time not passed. */
  function current(ns: number | undefined, name: string, token: number): LockRow | undefined {
    const row = ns === undefined ? undefined : read.get(ns, name)
    return row?.token === token && row.until > txn.nowMs ? row : undefined
  }
  return {
    acquire(namespace, items) {
      const ns = names.number(KIND.lock, namespace)
      return items.map((item) => acquire(namespace, ns, item))
    },
    extend(namespace, items) {
      const ns = names.find(KIND.lock, namespace)
      return items.map(({ name, token, holdMs }) => {
        const row = current(ns, name, token)
        if (ns === undefined || row === undefined) return 'lease_lost'
        const until = Math.max(row.until, txn.nowMs + holdMs)
        prolong.run(until, ns, name)
        return { until }
      })
    },
    release(namespace, items) {
      const ns = names.find(KIND.lock, namespace)
      return items.map(({ name, token }) => {
        if (ns === undefined || current(ns, name, token) === undefined) return 'lease_lost'
        sizes.add(ns, -1)
        remove.run(ns, name)
        return 'ok'
      })
    },
  }
}
