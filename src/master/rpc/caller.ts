/** @module master/rpc/caller  Defines the caller of an RPC method, and the type of a method. */
import type { CatalogEntry } from '../../automation/index.ts'
import type { RpcMethod, RpcParams, RpcResult } from '../../protocol/index.ts'
import type { LeaseRef } from '../../storage/index.ts'
import type { RawJson } from '../http/index.ts'
import type { ResponseBudget } from './response-budget.ts'

/** The worker in the path. It may only use objects of its own type (S13). */
export interface Caller {
  readonly entry: CatalogEntry
  readonly workerId: string
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal
  /** Every lease granted to this request. They are released if the response cannot be sent. */
  readonly granted: LeaseRef[]
  /** Shared by all calls of the request. */
  readonly budget: ResponseBudget
  /**
   * Writes leased tasks, as JSON text, before the response of the call. Missing if the request does not accept lines.
   * @returns false if the client reads too slowly.
   */
  readonly writeLeased?: (tasks: string, leases: readonly LeaseRef[]) => boolean
}

/**
 * A method of the table. `params` are already checked. `exact` are the same params with their numbers as they were
 * sent, for values that are stored (D75). The result has the form of the wire, as a value or as text.
 */
type Method<M extends RpcMethod> = (
  params: RpcParams<M>,
  caller: Caller,
  exact: RpcParams<M>,
) => Promise<RpcResult<M> | RawJson>
export type Methods<M extends RpcMethod> = { readonly [Each in M]: Method<Each> }
