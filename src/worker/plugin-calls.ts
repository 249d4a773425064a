/**
 * @module worker/plugin-calls
 * Sends the calls of plugins. A claim of pool items names its slot and task if every live master knows these fields
 * (D186).
 */
import { RpcError, type RpcMethod, type RpcParams, type RpcResult } from '../protocol/index.ts'
import type { MasterFeatures } from './master-features.ts'

export interface PluginCallsDeps {
  readonly rpc: { call<M extends RpcMethod>(method: M, params: RpcParams<M>): Promise<RpcResult<M>> }
  readonly features: Pick<MasterFeatures, 'drop' | 'has'>
}

export class PluginCalls {
  readonly #deps: PluginCallsDeps

  constructor(deps: PluginCallsDeps) {
    this.#deps = deps
  }

  /** @throws {RpcError} with the master's code, or `unavailable` without a response. */
  async call<M extends RpcMethod>(method: M, params: RpcParams<M>): Promise<RpcResult<M>> {
    const { rpc, features } = this.#deps
    if (method !== 'pool.claim') return rpc.call(method, params)
    const { slot_id: _, task_id: __, ...plain } = params as RpcParams<'pool.claim'>
    if (!features.has('holder')) return rpc.call(method, plain as RpcParams<M>)
    try {
      return await rpc.call(method, params)
    } catch (error) {
      if (!(error instanceof RpcError) || error.code !== 'invalid_params') throw error
      features.drop('holder') // A master of an earlier release has joined.
      return rpc.call(method, plain as RpcParams<M>)
    }
  }
}
