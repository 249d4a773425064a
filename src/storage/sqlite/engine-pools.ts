/**
 * @module storage/sqlite/engine-pools
 * SqlitePools keeps pools of items, each of which one holder at a time may claim. `used` orders the free items: below
 * zero and by `put` if the item was never claimed, else the token of its last claim, which grows with time. An item
 * whose claim has ended is free at the next claim. An expired item counts as absent and is removed with the next put or
 * claim.
 */
import { MAX_RESPONSE_BYTES } from '../../protocol/index.ts'
import { EXTEND_LOST, takeWithin } from '../index.ts'
import type {
  Claim,
  ClaimRequest,
  ClaimRow,
  ExtendHoldResult,
  LeaseRef,
  PoolHolder,
  PoolItem,
  PoolRow,
  Pools,
  Sync,
} from '../index.ts'
import { storageError } from './calls.ts'
import type { Database } from './driver.ts'
import type { EngineDeps } from './engine-deps.ts'
import type { TokenSequence, TokenSequences } from './token-sequences.ts'
import { KIND, type Names } from './names.ts'
import { Sizes } from './sizes.ts'
import type { Transaction } from './transaction.ts'

const MAX_ITEMS = 100_000
/** A claim with tags checks at most this many items. */
const MAX_LOOKED_AT = 1_000
const UNUSED = -Number.MAX_SAFE_INTEGER

interface ClaimState {
  readonly expires: number | null
  readonly until: number | null
  readonly token: number | null
}
interface FreeItem {
  readonly id: string
  readonly tags: string
  readonly payload: string
}
interface StoredClaim {
  readonly id: string
  readonly token: number
  readonly expiresAtMs: number
  readonly owner: string
  readonly holder: string | null
  readonly renewals: number | null
}
/** The column `holder`. */
type StoredHolder = readonly [
  token: number,
  type: string,
  slotId: number | null,
  taskId: string | null,
  claimedAtMs: number,
]
type Tags = Readonly<Record<string, unknown>>
type WantedTags = readonly (readonly [string, unknown])[]

function statementsOf(db: Database) {
  return {
    read: db.prepare<[number, string], ClaimState>(
      'SELECT expires, until, token FROM pool_item WHERE pool = ? AND id = ?',
    ),
    insert: db.prepare<[number, string, string, string, number | null, number, number]>(
      'INSERT INTO pool_item(pool, id, tags, payload, expires, put, used) VALUES(?, ?, ?, ?, ?, ?, ?)',
    ),
    replace: db.prepare<[string, string, number | null, number, string]>(
      'UPDATE pool_item SET tags = ?, payload = ?, expires = ? WHERE pool = ? AND id = ?',
    ),
    remove: db.prepare<[number, string]>('DELETE FROM pool_item WHERE pool = ? AND id = ?'),
    expired: db.prepare<[number, number], string>('SELECT id FROM pool_item WHERE pool = ? AND expires <= ?').pluck(),
    countExpired: db
      .prepare<[number, number], number>('SELECT count(*) FROM pool_item WHERE pool = ? AND expires <= ?')
      .pluck(),
    prolong: db.prepare<[number, number, string]>(
      'UPDATE pool_item SET until = ?, renewals = renewals + 1 WHERE pool = ? AND id = ?',
    ),
    free: db.prepare<[number, string]>(
      'UPDATE pool_item SET until = NULL, token = NULL, owner = NULL WHERE pool = ? AND id = ?',
    ),
    freeEnded: db.prepare<[number, number]>(
      'UPDATE pool_item SET until = NULL, token = NULL, owner = NULL WHERE pool = ? AND until <= ?',
    ),
    longestUnused: db.prepare<[number, number], FreeItem>(
      'SELECT id, tags, payload FROM pool_item WHERE pool = ? AND until IS NULL ORDER BY used LIMIT ?',
    ),
    claim: db.prepare<[number, number, number, string, string | null, number, string]>(
      `UPDATE pool_item SET used = ?, token = ?, until = ?, owner = ?, holder = ?, renewals = 0
        WHERE pool = ? AND id = ?`,
    ),
    claims: db.prepare<[number, number, number, string | null, number], StoredClaim>(
      `SELECT id, token, until AS expiresAtMs, owner, holder, renewals FROM pool_item
        WHERE pool = ? AND until > ? AND (expires IS NULL OR expires > ?) AND id = coalesce(?, id)
        ORDER BY until, id LIMIT ?`,
    ),
    inUse: db
      .prepare<[number, number, number], number>(
        'SELECT count(*) FROM pool_item WHERE pool = ? AND until > ? AND (expires IS NULL OR expires > ?)',
      )
      .pluck(),
    list: db.prepare<[number, number, number], PoolRow>(
      `SELECT id, tags, payload, expires AS expiresAtMs, until AS inUseUntilMs FROM pool_item
        WHERE pool = ? AND (expires IS NULL OR expires > ?) ORDER BY put LIMIT ?`,
    ),
    lastPut: db.prepare<[number], number | null>('SELECT max(put) FROM pool_item WHERE pool = ?').pluck(),
  }
}

export class SqlitePools implements Sync<Pools> {
  readonly #txn: Transaction
  readonly #names: Names
  readonly #sequences: TokenSequences
  readonly #sizes: Sizes
  readonly #sql: ReturnType<typeof statementsOf>

  constructor({ db, txn, names, sequences }: EngineDeps) {
    this.#txn = txn
    this.#names = names
    this.#sequences = sequences
    this.#sizes = new Sizes(db, txn, 'SELECT count(*) FROM pool_item WHERE pool = ?')
    this.#sql = statementsOf(db)
  }

  put(name: string, items: readonly PoolItem[]): readonly ('created' | 'replaced')[] {
    const pool = this.#names.number(KIND.pool, name)
    this.#removeExpired(pool)
    return items.map((item) => this.#put(name, pool, item))
  }

  remove(
    name: string,
    items: readonly { readonly id: string; readonly token: number | null }[],
  ): readonly (boolean | 'lease_lost')[] {
    const pool = this.#names.find(KIND.pool, name)
    return items.map(({ id, token }) => {
      const item = token === null ? this.#find(pool, id) : this.#claimed(pool, { id, token })
      if (pool === undefined || item === undefined) return token === null ? false : 'lease_lost'
      this.#sizes.add(pool, -1)
      this.#sql.remove.run(pool, id)
      return true
    })
  }

  claim(name: string, requests: readonly ClaimRequest[]): readonly (readonly Claim[])[] {
    const pool = this.#names.find(KIND.pool, name)
    if (pool === undefined) return requests.map(() => [])
    this.#removeExpired(pool)
    return requests.map((request) => this.#claim(pool, request))
  }

  extend(name: string, items: readonly (LeaseRef & { readonly holdMs: number })[]): readonly ExtendHoldResult[] {
    const pool = this.#names.find(KIND.pool, name)
    return items.map((item) => {
      const claimed = this.#claimed(pool, item)
      if (pool === undefined || claimed === undefined) return EXTEND_LOST.lease_lost
      const until = Math.max(claimed.until ?? 0, this.#txn.nowMs + item.holdMs)
      this.#sql.prolong.run(until, pool, item.id)
      return { kind: 'extended', expiresAtMs: until }
    })
  }

  release(name: string, leases: readonly LeaseRef[]): readonly ('ok' | 'lease_lost')[] {
    const pool = this.#names.find(KIND.pool, name)
    return leases.map((lease) => {
      if (pool === undefined || this.#claimed(pool, lease) === undefined) return 'lease_lost'
      this.#sql.free.run(pool, lease.id)
      return 'ok'
    })
  }

  list(name: string, n: number): { readonly size: number; readonly items: readonly PoolRow[] } {
    const { nowMs } = this.#txn
    const pool = this.#names.find(KIND.pool, name)
    if (pool === undefined) return { size: 0, items: [] }
    const rows = takeWithin(this.#sql.list.iterate(pool, nowMs, n), charsOf, MAX_RESPONSE_BYTES)
    const items = rows.map((row) => {
      const isInUse = row.inUseUntilMs !== null && row.inUseUntilMs > nowMs
      return isInUse ? row : { ...row, inUseUntilMs: null }
    })
    return { size: this.#sizeOf(name), items }
  }

  claims(name: string, n: number, id: string | null): { readonly inUse: number; readonly claims: readonly ClaimRow[] } {
    const { nowMs } = this.#txn
    const pool = this.#names.find(KIND.pool, name)
    if (pool === undefined) return { inUse: 0, claims: [] }
    const rows = this.#sql.claims.all(pool, nowMs, nowMs, id, n)
    return { inUse: this.#sql.inUse.get(pool, nowMs, nowMs) ?? 0, claims: rows.map(claimRow) }
  }

  sizes(pools: readonly string[]): readonly number[] {
    return pools.map((name) => this.#sizeOf(name))
  }

  #put(name: string, pool: number, item: PoolItem): 'created' | 'replaced' {
    const { id, tags, payload, expiresAtMs } = item
    if (this.#sql.read.get(pool, id) !== undefined) {
      this.#sql.replace.run(tags, payload, expiresAtMs, pool, id)
      return 'replaced'
    }
    if (this.#sizes.of(pool) >= MAX_ITEMS)
      throw storageError(
        'STORAGE_FULL',
        `the pool ${JSON.stringify(name)} has the maximum of ${MAX_ITEMS} items; remove some first`,
        'not_sent',
      )
    this.#sizes.add(pool, 1)
    const order = 1 + (this.#sql.lastPut.get(pool) ?? 0)
    this.#sql.insert.run(pool, id, tags, payload, expiresAtMs, order, UNUSED + order)
    return 'created'
  }

  /** Every statement ends before a row is changed. */
  #claim(pool: number, request: ClaimRequest): readonly Claim[] {
    this.#sql.freeEnded.run(pool, this.#txn.nowMs)
    const wanted = Object.entries(request.match)
    const free = this.#sql.longestUnused.iterate(pool, wanted.length === 0 ? request.n : MAX_LOOKED_AT)
    const picked = takeWithin(matching(free, wanted), charsOf, MAX_RESPONSE_BYTES, request.n)
    if (picked.length === 0) return []
    const fence = this.#sequences.change(pool)
    return picked.map((item) => this.#claimItem(fence, item, request))
  }

  #claimItem(
    fence: TokenSequence,
    { id, tags, payload }: FreeItem,
    { owner, holdMs, holder = null }: ClaimRequest,
  ): Claim {
    const token = this.#sequences.issue(fence)
    const until = this.#txn.nowMs + holdMs
    this.#sql.claim.run(token, token, until, owner, holder && holderText(token, holder, this.#txn.nowMs), fence.n, id)
    return { id, token, tags, payload, expiresAtMs: until }
  }

  #find(pool: number | undefined, id: string): ClaimState | undefined {
    const item = pool === undefined ? undefined : this.#sql.read.get(pool, id)
    if (item === undefined) return undefined
    const hasExpired = item.expires !== null && item.expires <= this.#txn.nowMs
    return hasExpired ? undefined : item
  }

  /** The item, if it is claimed under `token` now. */
  #claimed(pool: number | undefined, { id, token }: LeaseRef): ClaimState | undefined {
    const item = this.#find(pool, id)
    return item?.token === token && (item.until ?? 0) > this.#txn.nowMs ? item : undefined
  }

  #removeExpired(pool: number): void {
    const expired = this.#sql.expired.all(pool, this.#txn.nowMs)
    if (expired.length > 0) this.#sizes.add(pool, -expired.length)
    for (const id of expired) this.#sql.remove.run(pool, id)
  }

  #sizeOf(name: string): number {
    const pool = this.#names.find(KIND.pool, name)
    return pool === undefined ? 0 : this.#sizes.of(pool) - (this.#sql.countExpired.get(pool, this.#txn.nowMs) ?? 0)
  }
}

function holderText(token: number, { type, slotId, taskId }: PoolHolder, nowMs: number): string {
  const stored: StoredHolder = [token, type, slotId, taskId, nowMs]
  return JSON.stringify(stored)
}

function claimRow({ id, token, expiresAtMs, owner, holder, renewals }: StoredClaim): ClaimRow {
  const [of, type, slotId, taskId, claimedAtMs] = JSON.parse(holder ?? '[0, "", null, null, 0]') as StoredHolder
  const known = of === token ? { type, slotId, taskId, claimedAtMs, renewals: renewals ?? 0 } : null
  return { id, token, expiresAtMs, owner, holder: known }
}

function* matching(items: Iterable<FreeItem>, wanted: WantedTags): Iterable<FreeItem> {
  for (const item of items) if (wanted.length === 0 || hasTags(JSON.parse(item.tags), wanted)) yield item
}

function hasTags(tags: unknown, wanted: WantedTags): boolean {
  if (typeof tags !== 'object' || tags === null) return false
  const found = tags as Tags
  return wanted.every(([tag, value]) => Object.hasOwn(found, tag) && found[tag] === value)
}

function charsOf({ id, tags, payload }: FreeItem): number {
  return id.length + tags.length + payload.length
}
