/** @module master/rpc/caller  Who makes a call, and what every method of the table looks like. */
import type { CatalogEntry } from '../../automation/index.ts'
import type { RpcMethod, RpcParams, RpcResult } from '../../protocol/index.ts'
import type { LeaseRef } from '../../storage/index.ts'
import type { RawJson } from '../http/route.ts'
import type { ResponseBudget } from './response-budget.ts'

/** The worker that the path names; what it may touch ends at its type (S13). */
export interface Caller {
  readonly entry: CatalogEntry
  readonly workerId: string
  /** Aborts when the client went away. */
  readonly signal: AbortSignal
  /** Every lease granted to this request: given back when its answer cannot be written. */
  readonly granted: LeaseRef[]
  /** Shared by all calls of the request. */
  readonly budget: ResponseBudget
}

/**
 * `params` are checked before; `exact` are the same params with their numbers as they were sent, for what is stored
 * (D75). A result is what the wire shows, as a value or as text.
 */
type Method<M extends RpcMethod> = (
  params: RpcParams<M>,
  caller: Caller,
  exact: RpcParams<M>,
) => Promise<RpcResult<M> | RawJson>
export type Methods<M extends RpcMethod> = { readonly [Each in M]: Method<Each> }
