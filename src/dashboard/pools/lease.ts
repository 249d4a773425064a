/** @module dashboard/pools/lease  Whether a pool's item is free, claimed or neither any more, on the master's clock. */
import type { PoolBody } from '../../protocol/index.ts'

export type PoolItem = PoolBody['items'][number]

export type Lease =
  | { readonly kind: 'free' }
  | { readonly kind: 'claimed'; readonly until: number }
  /** Its holder went without releasing it; the next claim may have it. */
  | { readonly kind: 'ran_out'; readonly until: number }

export function leaseOf({ in_use_until: until }: PoolItem, nowSeconds: number): Lease {
  if (until === null) return { kind: 'free' }
  return { kind: until > nowSeconds ? 'claimed' : 'ran_out', until }
}

export interface PoolCounts {
  readonly free: number
  readonly claimed: number
}

/** Over the items shown. One whose claim ran out is free. */
export function countsOf(items: readonly PoolItem[], nowSeconds: number): PoolCounts {
  const claimed = items.filter((item) => leaseOf(item, nowSeconds).kind === 'claimed').length
  return { claimed, free: items.length - claimed }
}
