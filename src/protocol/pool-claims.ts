/**
 * @module protocol/pool-claims
 * Defines the bodies that show the items of pools and who holds them, and the call that ends a claim (D186).
 */
import { Type, type Static } from 'typebox'
import { MAX_CLAIMS_LISTED } from './limits.ts'
import { AnyObject, Name, Nullable, Seconds, Strict, Token } from './names.ts'

/** An item of a pool. */
export const PoolItem = Type.Object({
  id: Type.String(),
  tags: AnyObject,
  payload: AnyObject,
  expires_at: Nullable(Seconds),
  in_use_until: Nullable(Seconds),
})
/** The size of a pool and its first items. */
export const PoolBody = Type.Object({ size: Type.Integer(), items: Type.Array(PoolItem) })
export type PoolBody = Static<typeof PoolBody>

/** The run of a worker that holds or waits. Absent fields are not known: an earlier release does not report them. */
const Runner = {
  automation_type: Type.Optional(Type.String()),
  worker_id: Type.String(),
  slot_id: Type.Optional(Type.Integer()),
  task_id: Type.Optional(Type.String()),
}
/** A claim that has not ended. `token`: ends exactly this claim, if it is passed to the call that releases it. */
export const PoolClaimRow = Type.Object({
  id: Type.String(),
  token: Token,
  in_use_until: Seconds,
  ...Runner,
  claimed_at: Type.Optional(Seconds),
  renewals: Type.Optional(Type.Integer()),
})
export type PoolClaimRow = Static<typeof PoolClaimRow>
/** A run whose last claim got no item. `since`: the first such claim after the last item that it got. */
export const PoolWaiter = Type.Object({ ...Runner, since: Seconds })
export type PoolWaiter = Static<typeof PoolWaiter>

const counts = { size: Type.Integer(), in_use: Type.Integer(), waiting: Type.Integer() }
/** All declared pools, by name, with the types that declare each. */
export const PoolsBody = Type.Object({
  pools: Type.Array(Type.Object({ name: Type.String(), automation_types: Type.Array(Type.String()), ...counts })),
})
export type PoolsBody = Static<typeof PoolsBody>
/** The claims of a pool, the first to end first, and up to 100 runs that wait, the longest first. */
export const PoolClaimsBody = Type.Object({
  ...counts,
  claims: Type.Array(PoolClaimRow),
  waiters: Type.Array(PoolWaiter),
})
export type PoolClaimsBody = Static<typeof PoolClaimsBody>

/** The query of the claims of a pool. `item`: only the claim of this item. */
export const PoolClaimsQuery = Strict({
  n: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_CLAIMS_LISTED, default: 100 })),
  item: Type.Optional(Name),
})
/** The body that ends one claim: its item, and its token as listed. */
export const ReleaseClaimBody = Strict({ id: Name, token: Token })
export type ReleaseClaimBody = Static<typeof ReleaseClaimBody>
/** `released` is false if the claim had already ended; a later claim of the item is not touched. */
export const ReleasedClaimBody = Type.Object({
  id: Type.String(),
  released: Type.Boolean(),
  worker_id: Nullable(Type.String()),
})
export type ReleasedClaimBody = Static<typeof ReleasedClaimBody>
