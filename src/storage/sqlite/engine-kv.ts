/**
 * @module storage/sqlite/engine-kv
 * Keys, counters and locks in the database. A key whose time has passed counts as absent and goes when it is met, when
 * its namespace is full, or when the store is idle. A lock is held by its newest token until its hold has passed. A
 * counter of 0 has no row.
 */
import { MAX_KV_VALUE_BYTES } from '../../protocol/index.ts'
import { storageError, type Sync } from './calls.ts'
import type { Counters, Kv, Locks } from '../index.ts'
import type { Database } from './driver.ts'
import type { Fences } from './fences.ts'
import { KIND, type Names } from './names.ts'
import { Namespaces } from './namespaces.ts'
import { pruneCost } from './prune-cost.ts'
import { Sizes } from './sizes.ts'
import type { Transaction } from './transaction.ts'

const MAX_KEYS = 100_000
const MAX_LOCKS = 10_000
const MAX_COUNTERS = 10_000

const full = (what: string, namespace: string, bound: number): Error =>
  storageError(
    'STORAGE_FULL',
    `the namespace ${JSON.stringify(namespace)} has the maximum of ${bound} ${what}; remove some, or use another namespace`,
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
  const expired = db.prepare<[number, number, number], { k: string; bytes: number }>(
    'SELECT k, octet_length(v) AS bytes FROM kv WHERE ns = ? AND expires <= ? LIMIT ?',
  )
  const first = db.prepare<[number], number>('SELECT 1 FROM kv WHERE ns = ? LIMIT 1').pluck()
  const sizes = new Sizes(db, txn, 'SELECT count(*) FROM kv WHERE ns = ?')
  const namespaces = new Namespaces({
    names,
    txn,
    kind: KIND.kv,
    what: 'keys',
    prune: forget,
    isEmpty: (ns) => first.get(ns) === undefined,
  })

  /** Removes expired keys until they cost `limit` rows. @returns what they cost. */
  function forget(ns: number, limit: number): number {
    let cost = 0
    for (const { k, bytes } of expired.all(ns, txn.nowMs, limit)) {
      if (cost >= limit) break
      sizes.add(ns, -1)
      remove.run(ns, k)
      cost += pruneCost(bytes)
    }
    return cost
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
    set(namespace, items, isOfType = false) {
      for (const { key, value } of items) {
        if (Buffer.byteLength(value) > MAX_KV_VALUE_BYTES)
          throw storageError(
            'STORAGE_FULL',
            `the value of ${JSON.stringify(key)} is larger than 256 KiB; keep it elsewhere, and a link to it here`,
            'not_sent',
          )
      }
      const ns = namespaces.findOrMake(namespace, isOfType)
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
  const remove = db.prepare<[number, string]>('DELETE FROM counter WHERE ns = ? AND name = ?')
  const first = db.prepare<[number], number>('SELECT 1 FROM counter WHERE ns = ? LIMIT 1').pluck()
  const sizes = new Sizes(db, txn, 'SELECT count(*) FROM counter WHERE ns = ?')
  const namespaces = new Namespaces({
    names,
    txn,
    kind: KIND.counter,
    what: 'counters',
    prune: () => 0,
    isEmpty: (ns) => first.get(ns) === undefined,
  })

  function add(namespace: string, ns: number, name: string, delta: number): number | 'out_of_range' {
    const known = read.get(ns, name)
    const sum = (known ?? 0) + delta
    if (!Number.isSafeInteger(sum)) return 'out_of_range'
    if (sum === 0) {
      if (known !== undefined) sizes.add(ns, -1)
      remove.run(ns, name)
      return 0
    }
    if (known === undefined) {
      if (sizes.of(ns) >= MAX_COUNTERS) throw full('counters', namespace, MAX_COUNTERS)
      sizes.add(ns, 1)
    }
    write.run(ns, name, sum)
    return sum
  }
  return {
    add(namespace, items, isOfType = false) {
      const ns = namespaces.findOrMake(namespace, isOfType)
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

export function locksOf(
  db: Database,
  txn: Transaction,
  names: Names,
  fences: Fences,
): Sync<Locks> & { prune(limit: number): number } {
  const read = db.prepare<[number, string], LockRow>('SELECT token, until FROM lock WHERE ns = ? AND name = ?')
  const write = db.prepare<
    [number, string, number, number, string]
  >(`INSERT INTO lock(ns, name, token, until, owner) VALUES(?, ?, ?, ?, ?)
    ON CONFLICT(ns, name) DO UPDATE SET token = excluded.token, until = excluded.until, owner = excluded.owner`)
  const prolong = db.prepare<[number, number, string]>('UPDATE lock SET until = ? WHERE ns = ? AND name = ?')
  const remove = db.prepare<[number, string]>('DELETE FROM lock WHERE ns = ? AND name = ?')
  const passed = db
    .prepare<[number, number, number], string>('SELECT name FROM lock WHERE ns = ? AND until <= ? LIMIT ?')
    .pluck()
  const first = db.prepare<[number], number>('SELECT 1 FROM lock WHERE ns = ? LIMIT 1').pluck()
  const sizes = new Sizes(db, txn, 'SELECT count(*) FROM lock WHERE ns = ?')
  const namespaces = new Namespaces({
    names,
    txn,
    kind: KIND.lock,
    what: 'locks',
    prune: forget,
    isEmpty: (ns) => first.get(ns) === undefined && fences.isPast(ns),
    onRemove: (ns) => fences.remove(ns),
  })

  function forget(ns: number, limit: number): number {
    const gone = passed.all(ns, txn.nowMs, limit)
    if (gone.length > 0) sizes.add(ns, -gone.length)
    for (const name of gone) remove.run(ns, name)
    return gone.length
  }
  function acquire(
    namespace: string,
    ns: number,
    { name, owner, holdMs }: Parameters<Locks['acquire']>[1][number],
  ): { token: number; expiresAtMs: number } | { heldUntilMs: number } {
    const held = read.get(ns, name)
    if (held !== undefined && held.until > txn.nowMs) return { heldUntilMs: held.until }
    if (held === undefined) {
      if (sizes.of(ns) >= MAX_LOCKS && forget(ns, 1_000) === 0) throw full('locks', namespace, MAX_LOCKS)
      sizes.add(ns, 1)
    }
    const token = fences.issue(fences.change(ns))
    const until = txn.nowMs + holdMs
    write.run(ns, name, token, until, owner)
    return { token, expiresAtMs: until }
  }
  /** The lock that `token` holds, its time not passed. */
  function current(ns: number | undefined, name: string, token: number): LockRow | undefined {
    const row = ns === undefined ? undefined : read.get(ns, name)
    return row?.token === token && row.until > txn.nowMs ? row : undefined
  }
  return {
    acquire(namespace, items, isOfType = false) {
      const ns = namespaces.findOrMake(namespace, isOfType)
      return items.map((item) => acquire(namespace, ns, item))
    },
    extend(namespace, items) {
      const ns = names.find(KIND.lock, namespace)
      return items.map(({ name, token, holdMs }) => {
        const row = current(ns, name, token)
        if (ns === undefined || row === undefined) return 'lease_lost'
        const until = Math.max(row.until, txn.nowMs + holdMs)
        prolong.run(until, ns, name)
        return { expiresAtMs: until }
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
    prune(limit) {
      let left = limit
      for (const ns of names.all(KIND.lock)) left -= left > 0 ? forget(ns, left) : 0
      return limit - left
    },
  }
}
