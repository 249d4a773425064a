/**
 * @module storage/sqlite/engine-pools
 * Pools of shared things that one holder at a time may use. `used` orders the free items: below zero and by `put` where
 * never used, else the token of the last claim, which grows with time. An ended claim is free at the next claim;
 * an item past its expiry counts as absent and goes with the next put or claim.
 */
import { MAX_ANSWER_BYTES } from '../../protocol/index.ts'
import type { ClaimRequest, Claim, PoolItem, PoolRow, Pools } from '../index.ts'
import { fitting } from './answer.ts'
import { storageError, type Sync } from './calls.ts'
import type { Database } from './driver.ts'
import type { Fence, Fences } from './fences.ts'
import { KIND, type Names } from './names.ts'
import { Sizes } from './sizes.ts'
import type { Transaction } from './transaction.ts'

const MAX_ITEMS = 100_000
/** A claim with tags looks at no more items than this. */
const MAX_LOOKED_AT = 1_000
const UNUSED = -Number.MAX_SAFE_INTEGER

interface Held {
  readonly expires: number | null
  readonly until: number | null
  readonly token: number | null
}
interface Free {
  readonly id: string
  readonly tags: string
  readonly payload: string
}

export function poolsOf(db: Database, txn: Transaction, names: Names, fences: Fences): Sync<Pools> {
  const read = db.prepare<[number, string], Held>(
    'SELECT expires, until, token FROM pool_item WHERE pool = ? AND id = ?',
  )
  const insert = db.prepare<[number, string, string, string, number | null, number, number]>(
    'INSERT INTO pool_item(pool, id, tags, payload, expires, put, used) VALUES(?, ?, ?, ?, ?, ?, ?)',
  )
  const replace = db.prepare<[string, string, number | null, number, string]>(
    'UPDATE pool_item SET tags = ?, payload = ?, expires = ? WHERE pool = ? AND id = ?',
  )
  const remove = db.prepare<[number, string]>('DELETE FROM pool_item WHERE pool = ? AND id = ?')
  const expired = db
    .prepare<[number, number], string>('SELECT id FROM pool_item WHERE pool = ? AND expires <= ?')
    .pluck()
  const countExpired = db
    .prepare<[number, number], number>('SELECT count(*) FROM pool_item WHERE pool = ? AND expires <= ?')
    .pluck()
  const prolong = db.prepare<[number, number, string]>('UPDATE pool_item SET until = ? WHERE pool = ? AND id = ?')
  const free = db.prepare<[number, string]>(
    'UPDATE pool_item SET until = NULL, token = NULL, owner = NULL WHERE pool = ? AND id = ?',
  )
  const list = db.prepare<
    [number, number, number],
    PoolRow
  >(`SELECT id, tags, payload, expires AS expiresAtMs, until AS inUseUntilMs FROM pool_item
    WHERE pool = ? AND (expires IS NULL OR expires > ?) ORDER BY put LIMIT ?`)
  const lastPut = db.prepare<[number], number | null>('SELECT max(put) FROM pool_item WHERE pool = ?').pluck()
  const sizes = new Sizes(db, txn, 'SELECT count(*) FROM pool_item WHERE pool = ?')

  function prune(pool: number): void {
    const gone = expired.all(pool, txn.nowMs)
    if (gone.length > 0) sizes.add(pool, -gone.length)
    for (const id of gone) remove.run(pool, id)
  }
  function sizeOf(name: string): number {
    const pool = names.find(KIND.pool, name)
    return pool === undefined ? 0 : sizes.of(pool) - (countExpired.get(pool, txn.nowMs) ?? 0)
  }
  function find(pool: number | undefined, id: string): Held | undefined {
    const item = pool === undefined ? undefined : read.get(pool, id)
    return item === undefined || (item.expires !== null && item.expires <= txn.nowMs) ? undefined : item
  }
  /** The item where `token` is its claim, and has not ended. */
  function held(pool: number | undefined, id: string, token: number): Held | undefined {
    const item = find(pool, id)
    return item?.token === token && (item.until ?? 0) > txn.nowMs ? item : undefined
  }
  function put(
    name: string,
    pool: number,
    { id, tags, payload, expiresAtMs: expires }: PoolItem,
  ): 'created' | 'replaced' {
    if (read.get(pool, id) !== undefined) {
      replace.run(tags, payload, expires, pool, id)
      return 'replaced'
    }
    if (sizes.of(pool) >= MAX_ITEMS)
      throw storageError(
        'STORAGE_FULL',
        `the pool ${JSON.stringify(name)} has the maximum of ${MAX_ITEMS} items; remove some first`,
        'not_sent',
      )
    sizes.add(pool, 1)
    const order = 1 + (lastPut.get(pool) ?? 0)
    insert.run(pool, id, tags, payload, expires, order, UNUSED + order)
    return 'created'
  }
  const claim = claimingOf(db, txn, fences)
  return {
    put(name, items) {
      const pool = names.number(KIND.pool, name)
      prune(pool)
      return items.map((item) => put(name, pool, item))
    },
    remove(name, items) {
      const pool = names.find(KIND.pool, name)
      return items.map(({ id, token }) => {
        const item = token === null ? find(pool, id) : held(pool, id, token)
        if (pool === undefined || item === undefined) return token === null ? false : 'lease_lost'
        sizes.add(pool, -1)
        remove.run(pool, id)
        return true
      })
    },
    claim(name, requests) {
      const pool = names.find(KIND.pool, name)
      if (pool === undefined) return requests.map(() => [])
      prune(pool)
      return requests.map((request) => claim(pool, request))
    },
    extend(name, items) {
      const pool = names.find(KIND.pool, name)
      return items.map(({ id, token, holdMs }) => {
        const item = held(pool, id, token)
        if (pool === undefined || item === undefined) return 'lease_lost'
        const until = Math.max(item.until ?? 0, txn.nowMs + holdMs)
        prolong.run(until, pool, id)
        return { expiresAtMs: until }
      })
    },
    release(name, leases) {
      const pool = names.find(KIND.pool, name)
      return leases.map(({ id, token }) => {
        if (pool === undefined || held(pool, id, token) === undefined) return 'lease_lost'
        free.run(pool, id)
        return 'ok'
      })
    },
    list(name, n) {
      const pool = names.find(KIND.pool, name)
      const items = pool === undefined ? [] : fitting(list.iterate(pool, txn.nowMs, n), charsOf, MAX_ANSWER_BYTES)
      return {
        size: sizeOf(name),
        items: items.map((row) => ({
          ...row,
          inUseUntilMs: row.inUseUntilMs !== null && row.inUseUntilMs > txn.nowMs ? row.inUseUntilMs : null,
        })),
      }
    },
    sizes: (pools) => pools.map(sizeOf),
  }
}

/** Every statement ends before a row is changed. */
function claimingOf(
  db: Database,
  txn: Transaction,
  fences: Fences,
): (pool: number, request: ClaimRequest) => readonly Claim[] {
  const freePassed = db.prepare<[number, number]>(
    'UPDATE pool_item SET until = NULL, token = NULL, owner = NULL WHERE pool = ? AND until <= ?',
  )
  const inLine = db.prepare<[number, number], Free>(
    'SELECT id, tags, payload FROM pool_item WHERE pool = ? AND until IS NULL ORDER BY used LIMIT ?',
  )
  const take = db.prepare<[number, number, number, string, number, string]>(
    'UPDATE pool_item SET used = ?, token = ?, until = ?, owner = ? WHERE pool = ? AND id = ?',
  )

  function claimOne(fence: Fence, { id, tags, payload }: Free, { owner, holdMs }: ClaimRequest): Claim {
    const token = fences.issue(fence)
    const until = txn.nowMs + holdMs
    take.run(token, token, until, owner, fence.n, id)
    return { id, token, tags, payload, expiresAtMs: until }
  }
  return (pool, request) => {
    freePassed.run(pool, txn.nowMs)
    const wanted = Object.entries(request.match)
    const found = inLine.iterate(pool, wanted.length === 0 ? request.n : MAX_LOOKED_AT)
    const picked = fitting(matching(found, wanted), charsOf, MAX_ANSWER_BYTES, request.n)
    return picked.length === 0 ? [] : picked.map((item) => claimOne(fences.change(pool), item, request))
  }
}

function* matching(found: Iterable<Free>, wanted: readonly (readonly [string, unknown])[]): Iterable<Free> {
  for (const item of found) if (matches(item.tags, wanted)) yield item
}

const charsOf = ({ id, tags, payload }: Free): number => id.length + tags.length + payload.length

function matches(tags: string, wanted: readonly (readonly [string, unknown])[]): boolean {
  if (wanted.length === 0) return true
  const found: unknown = JSON.parse(tags)
  return (
    typeof found === 'object' &&
    found !== null &&
    wanted.every(([tag, value]) => Object.hasOwn(found, tag) && Reflect.get(found, tag) === value)
  )
}
