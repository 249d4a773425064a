/**
 * @module storage/memory/pools
 * Implements `pools` of the contract. Free items are in a queue ordered by last use: items that were never claimed have
 * numbers below zero in the order of their put, others the token of their last claim. Claimed items are in a second
 * queue, ordered by the end of their claim.
 */
import { RECORD_OVERHEAD, storageFull } from './memory-budget.ts'
import { TimerQueue } from './timer-queue.ts'
import { MAX_RESPONSE_BYTES } from '../../protocol/index.ts'
import { EXTEND_LOST, takeWithin } from '../index.ts'
import { valueOf } from './store.ts'
import type { Timer } from './timer-queue.ts'
import type {
  Claim,
  ClaimRequest,
  ClaimRow,
  ExtendHoldResult,
  LeaseRef,
  PoolItem,
  PoolRow,
  Pools,
  Sync,
} from '../index.ts'
import type { JsonObject } from '../../protocol/index.ts'
import type { TokenSequence } from './token-sequence.ts'
import type { Store } from './store.ts'

/** Items one claim looks at for a match. */
const MAX_LOOKED_AT = 1_000

interface PooledItem {
  readonly id: string
  tags: string
  payload: string
  expiresAtMs: number | null
  /** Parsed on the first match. */
  parsed: JsonObject | null
  /** Of the last claim; below zero before the first. */
  use: number
  /** End of the hold; 0 while free. */
  until: number
  /** Of the last claim. */
  owner: string
  holder: ClaimRow['holder']
  /** Its place among the free or the claimed items. */
  position: Timer<PooledItem> | null
  expiry: Timer<PooledItem> | null
}

const charsOf = ({ id, tags, payload }: PoolItem): number => RECORD_OVERHEAD + id.length + tags.length + payload.length

export class MemoryPools implements Sync<Pools> {
  readonly #store: Store
  readonly #pools = new Map<string, Pool>()

  constructor(store: Store) {
    this.#store = store
  }

  put(name: string, items: readonly PoolItem[]): readonly ('created' | 'replaced')[] {
    const pool = this.#of(name)
    const added = new Set(items.filter(({ id }) => !pool.items.has(id)).map(({ id }) => id)).size
    if (pool.items.size + added > this.#store.limits.poolItems)
      throw storageFull(`pool ${JSON.stringify(name)} holds at most ${this.#store.limits.poolItems} items`)
    this.#store.budget.require(items.reduce((sum, item) => sum + charsOf(item), 0))
    return items.map((item) => pool.put(item))
  }

  remove(
    name: string,
    items: readonly { readonly id: string; readonly token: number | null }[],
  ): readonly (boolean | 'lease_lost')[] {
    const pool = this.#of(name)
    return items.map(({ id, token }) => {
      const item = token === null ? pool.items.get(id) : pool.held(id, token)
      if (item === undefined) return token === null ? false : 'lease_lost'
      pool.remove(item)
      return true
    })
  }

  claim(name: string, requests: readonly ClaimRequest[]): readonly (readonly Claim[])[] {
    const pool = this.#of(name)
    pool.freeEnded()
    return requests.map((request) => pool.claim(request))
  }

  extend(name: string, items: readonly (LeaseRef & { readonly holdMs: number })[]): readonly ExtendHoldResult[] {
    const pool = this.#of(name)
    return items.map(({ id, token, holdMs }) => {
      const item = pool.held(id, token)
      if (item === undefined) return EXTEND_LOST.lease_lost
      return { kind: 'extended', expiresAtMs: pool.extend(item, holdMs) }
    })
  }

  release(name: string, leases: readonly LeaseRef[]): readonly ('ok' | 'lease_lost')[] {
    const pool = this.#of(name)
    return leases.map(({ id, token }) => {
      const item = pool.held(id, token)
      if (item === undefined) return 'lease_lost'
      pool.free(item)
      return 'ok'
    })
  }

  list(name: string, n: number): { readonly size: number; readonly items: readonly PoolRow[] } {
    const { items } = this.#of(name)
    const now = this.#store.now()
    const show = ({ id, tags, payload, expiresAtMs, until }: PooledItem): PoolRow => ({
      id,
      tags,
      payload,
      expiresAtMs,
      inUseUntilMs: until > now ? until : null,
    })
    return { size: items.size, items: takeWithin(items.values(), charsOf, MAX_RESPONSE_BYTES, n).map(show) }
  }

  claims(name: string, n: number, id: string | null): { readonly inUse: number; readonly claims: readonly ClaimRow[] } {
    const now = this.#store.now()
    const held = [...this.#of(name).items.values()].filter(({ until }) => until > now)
    const shown = held.filter((item) => id === null || item.id === id).toSorted(byEnd)
    return { inUse: held.length, claims: shown.slice(0, n).map(claimRow) }
  }

  sizes(names: readonly string[]): readonly number[] {
    return names.map((name) => this.#of(name).items.size)
  }

  /** The pool without its expired items. */
  #of(name: string): Pool {
    const pool = valueOf(this.#pools, name, () => new Pool(this.#store))
    pool.prune()
    return pool
  }
}

class Pool {
  readonly items = new Map<string, PooledItem>()
  readonly #store: Store
  readonly #fence: TokenSequence
  readonly #free = new TimerQueue<PooledItem>()
  readonly #claimed = new TimerQueue<PooledItem>()
  readonly #expiring = new TimerQueue<PooledItem>()
  #puts = -Number.MAX_SAFE_INTEGER

  constructor(store: Store) {
    this.#store = store
    this.#fence = store.sequences.make(store.now())
  }

  put({ id, tags, payload, expiresAtMs }: PoolItem): 'created' | 'replaced' {
    const known = this.items.get(id)
    const item = known ?? {
      id,
      tags,
      payload,
      expiresAtMs,
      parsed: null,
      use: (this.#puts += 1),
      until: 0,
      owner: '',
      holder: null,
      position: null,
      expiry: null,
    }
    if (known === undefined) {
      this.items.set(id, item)
      item.position = this.#free.add(item.use, item)
    } else {
      this.#store.budget.add(-charsOf(known))
      Object.assign(known, { tags, payload, expiresAtMs, parsed: null })
      if (known.expiry !== null) this.#expiring.cancel(known.expiry)
    }
    item.expiry = expiresAtMs === null ? null : this.#expiring.add(expiresAtMs, item)
    this.#store.budget.add(charsOf(item))
    return known === undefined ? 'created' : 'replaced'
  }

  /** The item under exactly this claim, while its hold lasts. */
  held(id: string, token: number): PooledItem | undefined {
    const item = this.items.get(id)
    return item !== undefined && item.use === token && item.until > this.#store.now() ? item : undefined
  }

  claim({ n, holdMs, match, owner, holder = null }: ClaimRequest): readonly Claim[] {
    const wanted = Object.entries(match)
    const claims: Claim[] = []
    const passed: PooledItem[] = []
    let chars = 0
    while (claims.length < n && (wanted.length === 0 || claims.length + passed.length < MAX_LOOKED_AT)) {
      const item = this.#free.takeDue(Infinity)
      if (item === null) break
      item.position = null
      if (!matches(item, wanted)) passed.push(item)
      else if (claims.length > 0 && chars + charsOf(item) > MAX_RESPONSE_BYTES) {
        passed.push(item)
        break
      } else {
        chars += charsOf(item)
        item.owner = owner
        item.holder = holder && { ...holder, claimedAtMs: this.#store.now(), renewals: 0 }
        claims.push(this.#hold(item, holdMs))
      }
    }
    for (const item of passed) item.position = this.#free.add(item.use, item)
    return claims
  }

  extend(item: PooledItem, holdMs: number): number {
    const until = this.#store.now() + holdMs
    item.holder = item.holder && { ...item.holder, renewals: item.holder.renewals + 1 }
    if (until > item.until) {
      this.#leave(item, this.#claimed)
      item.until = until
      item.position = this.#claimed.add(until, item)
    }
    return item.until
  }

  free(item: PooledItem): void {
    this.#leave(item, this.#claimed)
    item.until = 0
    item.position = this.#free.add(item.use, item)
  }

  freeEnded(): void {
    const now = this.#store.now()
    for (let item = this.#claimed.takeDue(now); item !== null; item = this.#claimed.takeDue(now)) {
      item.position = null
      this.free(item)
    }
  }

  remove(item: PooledItem): void {
    this.items.delete(item.id)
    this.#leave(item, item.until === 0 ? this.#free : this.#claimed)
    if (item.expiry !== null) this.#expiring.cancel(item.expiry)
    this.#store.budget.add(-charsOf(item))
  }

  prune(): void {
    const now = this.#store.now()
    for (let item = this.#expiring.takeDue(now); item !== null; item = this.#expiring.takeDue(now)) {
      item.expiry = null
      this.remove(item)
    }
  }

  #hold(item: PooledItem, holdMs: number): Claim {
    item.use = this.#fence.next()
    item.until = this.#store.now() + holdMs
    item.position = this.#claimed.add(item.until, item)
    return { id: item.id, token: item.use, tags: item.tags, payload: item.payload, expiresAtMs: item.until }
  }

  #leave(item: PooledItem, queue: TimerQueue<PooledItem>): void {
    if (item.position !== null) queue.cancel(item.position)
    item.position = null
  }
}

function byEnd(a: PooledItem, b: PooledItem): number {
  return a.until - b.until || (a.id < b.id ? -1 : 1)
}

function claimRow({ id, use, until, owner, holder }: PooledItem): ClaimRow {
  return { id, token: use, expiresAtMs: until, owner, holder }
}

function matches(item: PooledItem, wanted: readonly (readonly [string, unknown])[]): boolean {
  if (wanted.length === 0) return true
  const tags = (item.parsed ??= JSON.parse(item.tags) as JsonObject)
  return wanted.every(([tag, value]) => Object.hasOwn(tags, tag) && tags[tag] === value)
}
