/** Tests the calls of plugins: who claims pool items (D186). */
import { beforeEach, describe, expect, it } from '@jest/globals'
import { RpcError, type RpcMethod, type RpcParams, type RpcResult } from '../../src/protocol/index.ts'
import { VirtualTime } from '../../src/runtime/index.ts'
import { MasterFeatures } from '../../src/worker/master-features.ts'
import { PluginCalls } from '../../src/worker/plugin-calls.ts'

const PLAIN = { pool: 'p', hold_ms: 1_000 }
const FULL = { ...PLAIN, slot_id: 2, task_id: 't' }

let features: MasterFeatures
let sent: unknown[]
let failures: Error[]
let calls: PluginCalls

beforeEach(() => {
  features = new MasterFeatures(new VirtualTime())
  features.read({ 'muster-features': 'holder' })
  sent = []
  failures = []
  calls = new PluginCalls({ features, rpc: { call } })
})

function call<M extends RpcMethod>(_: M, params: RpcParams<M>): Promise<RpcResult<M>> {
  sent.push(params)
  const failure = failures.shift()
  return failure === undefined ? Promise.resolve({ claims: [] } as unknown as RpcResult<M>) : Promise.reject(failure)
}

describe('a claim of a pool item', () => {
  it('names slot and task only for masters that read them', async () => {
    await calls.call('pool.claim', FULL)
    features.read({ 'muster-features': 'stream' })
    await calls.call('pool.claim', FULL)
    expect(sent).toEqual([FULL, PLAIN])
  })

  it('claims again without them if a master rejects them', async () => {
    failures.push(new RpcError('invalid_params', 'params: has unknown fields'))
    expect(await calls.call('pool.claim', FULL)).toEqual({ claims: [] })
    await calls.call('pool.claim', FULL)
    expect(sent).toEqual([FULL, PLAIN, PLAIN])
  })

  it('is not repeated after another failure, because it may have been granted', async () => {
    failures.push(new RpcError('unavailable', 'no response', { outcome: 'unknown' }))
    await expect(calls.call('pool.claim', FULL)).rejects.toMatchObject({ code: 'unavailable' })
    expect(sent).toEqual([FULL])
  })

  it('leaves other calls as they are', async () => {
    await calls.call('kv.get', { key: 'k' })
    expect(sent).toEqual([{ key: 'k' }])
  })
})
