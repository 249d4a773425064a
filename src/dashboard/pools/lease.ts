/** @module dashboard/pools/lease  Returns whether a pool item is free, claimed or has an expired claim. */
import type { PoolBody } from '../../protocol/index.ts'

export type PoolItem = PoolBody['items'][number]

export type Lease =
  | { readonly kind: 'free' }
  | { readonly kind: 'claimed'; readonly until: number }
  /** The claim expired without a release; the next claim may return the item. */
  | { readonly kind: 'ran_out'; readonly until: number }

export function leaseOf({ in_use_until: until }: PoolItem, nowSeconds: number): Lease {
  if (until === null) return { kind: 'free' }
  return { kind: until > nowSeconds ? 'claimed' : 'ran_out', until }
}

export interface PoolCounts {
  readonly free: number
  readonly claimed: number
}

/** Counts of the shown items. An item with an expired claim is free. */
export function countsOf(items: readonly PoolItem[], nowSeconds: number): PoolCounts {
  const claimed = items.filter((item) => leaseOf(item, nowSeconds).kind === 'claimed').length
  return { claimed, free: items.length - claimed }
}
