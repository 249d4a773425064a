/**
 * @module storage/contract/common
 * Defines the types that several parts of the storage contract share: points in time, fencing tokens and lease names.
 */

/** A point in time on the backend's own clock: integer milliseconds since 1970. */
export type EpochMs = number

/**
 * Fencing token: a safe integer that grows with every lease, claim or lock. Each automation type, each pool and each
 * lock namespace has its own sequence. A token is never issued twice, also not after a restart (D24).
 */
export type Token = number

/**
 * Resolves to one result per item, in the order of the items. An empty list of items gives an empty list of results.
 */
export type PerItem<T> = Promise<readonly T[]>

/** The result of extending one claim or one lock. `lease_lost`: it has ended, or the token is another one. */
export type ExtendHoldResult =
  { readonly kind: 'extended'; readonly expiresAtMs: EpochMs } | { readonly kind: 'lease_lost' }

/** Names one lease of a task or one claim of a pool item: the item and the token under which it was handed out. */
export interface LeaseRef {
  readonly id: string
  readonly token: Token
}
