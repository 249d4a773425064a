/**
 * @module storage/contract/pools
 * Defines pools: named sets of items, each of which at most one worker holds at a time.
 */
import type { JsonText } from '../../protocol/index.ts'
import type { EpochMs, ExtendHoldResult, LeaseRef, PerItem, Token } from './common.ts'

/** An item as it is put into a pool. */
export interface PoolItem {
  readonly id: string
  /** A flat JSON object that claims can match. */
  readonly tags: JsonText
  readonly payload: JsonText
  /** The item is removed at this time, claimed or not; `null`: never. */
  readonly expiresAtMs: EpochMs | null
}

/** An item as it is listed. */
export interface PoolRow extends PoolItem {
  /** The end of the current claim; `null` while the item is free. */
  readonly inUseUntilMs: EpochMs | null
}

/** One claimed item. */
export interface Claim extends LeaseRef {
  readonly tags: JsonText
  readonly payload: JsonText
  /** The claim ends at this time unless it is extended. */
  readonly expiresAtMs: EpochMs
}

/** Which run of a worker makes a claim. It is shown to people and decides nothing. */
export interface PoolHolder {
  /** The automation type of the worker, 1 to 256 characters. */
  readonly type: string
  /** 0 or more; `null`: the worker does not report it. */
  readonly slotId: number | null
  /** 1 to 256 characters; `null`: the run has no task, or the worker does not report it. */
  readonly taskId: string | null
}

/** The holder of a listed claim. */
interface ListedHolder extends PoolHolder {
  /** When the claim began. */
  readonly claimedAtMs: EpochMs
  /** How many times it was extended. */
  readonly renewals: number
}

/** A claim that has not ended, as it is listed. */
export interface ClaimRow extends LeaseRef {
  /** The claim ends at this time unless it is extended. */
  readonly expiresAtMs: EpochMs
  /** The id of the worker. */
  readonly owner: string
  /** `null`: an earlier release made the claim, or no holder was given. */
  readonly holder: ListedHolder | null
}

/** One claim of up to `n` items. */
export interface ClaimRequest {
  /** The worker that claims, 1 to 256 characters. */
  readonly owner: string
  /** Omitted or `null`: not known. */
  readonly holder?: PoolHolder | null
  /** 1 to 1,000 items. */
  readonly n: number
  /** How long the claim lasts, 1,000 to 43,200,000 ms. */
  readonly holdMs: number
  /**
   * Only items whose top-level tags have these values; `{}` matches all. A claim that matches checks at most 1,000
   * items.
   */
  readonly match: Readonly<Record<string, string | number | boolean>>
}

/** Pools of items. A pool exists as soon as it has an item. Every method first removes items that have expired. */
export interface Pools {
  /**
   * Adds items, or replaces tags, payload and expiry of known ones. Replacing keeps the claim and the place in the
   * order of use.
   *
   * @param pool The name of the pool, 1 to 256 characters.
   * @param items Items act in order: of two with one id the later one applies.
   * @returns `created` for a new item, `replaced` for a known one.
   * @throws {FleetError} STORAGE_FULL, also above 100,000 items in the pool. Nothing of the call was written.
   *   STORAGE_UNAVAILABLE. Safe to retry; a repeat returns `replaced`.
   */
  put(pool: string, items: readonly PoolItem[]): PerItem<'created' | 'replaced'>
  /**
   * Removes items, which ends their claims.
   *
   * @param pool The name of the pool.
   * @param items With a `token` an item is removed only while that claim lasts; with `null` in any case.
   * @returns true: removed. false: no such item (token `null`). `lease_lost`: the claim does not exist any more.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry; a repeat returns false or `lease_lost`.
   */
  remove(
    pool: string,
    items: readonly { readonly id: string; readonly token: Token | null }[],
  ): PerItem<boolean | 'lease_lost'>
  /**
   * Claims free items: first those that were never claimed, in the order in which they were put, then those whose last
   * claim is the longest ago. Requests are served in order.
   *
   * @param pool The name of the pool; an unknown pool has no items.
   * @param requests One per worker that claims.
   * @returns one list per request. It may be shorter than `n`: too few items are free or match, or it ended early at
   *   32 MiB, after at least one item. Empty: no item is free, or none matches.
   * @throws {FleetError} STORAGE_UNAVAILABLE. If the outcome is unknown, a retry claims other items, and those of the
   *   first call may stay claimed until their hold ends.
   * @see D30
   */
  claim(pool: string, requests: readonly ClaimRequest[]): PerItem<readonly Claim[]>
  /**
   * Moves the end of claims to now + `holdMs`, never to an earlier time.
   *
   * @param pool The name of the pool.
   * @param items `holdMs`: 1,000 to 43,200,000 ms.
   * @returns the end that now applies; `lease_lost` if the claim has ended.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  extend(pool: string, items: readonly (LeaseRef & { readonly holdMs: number })[]): PerItem<ExtendHoldResult>
  /**
   * Ends claims, so that the items are free again.
   *
   * @param pool The name of the pool.
   * @param leases The claims.
   * @returns `lease_lost` if the claim has ended.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry; a repeat returns `lease_lost`.
   */
  release(pool: string, leases: readonly LeaseRef[]): PerItem<'ok' | 'lease_lost'>
  /**
   * Lists items, oldest put first.
   *
   * @param pool The name of the pool.
   * @param n At most this many items, 1 to 10,000. The list ends early at 32 MiB, after at least one item.
   * @returns `size` counts all items; `{ size: 0, items: [] }` for an unknown pool.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  list(pool: string, n: number): Promise<{ readonly size: number; readonly items: readonly PoolRow[] }>
  /**
   * Lists the claims that have not ended, the first to end first.
   *
   * @param pool The name of the pool.
   * @param n At most this many claims, 1 to 1,000.
   * @param id Only the claim of this item; `null`: of all items.
   * @returns `inUse` counts the claims of all items; `{ inUse: 0, claims: [] }` for an unknown pool.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   * @see D186
   */
  claims(
    pool: string,
    n: number,
    id: string | null,
  ): Promise<{ readonly inUse: number; readonly claims: readonly ClaimRow[] }>
  /**
   * Counts the items of pools.
   *
   * @param pools Names of pools.
   * @returns 0 for an unknown pool.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  sizes(pools: readonly string[]): PerItem<number>
}
