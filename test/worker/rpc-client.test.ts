import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { RpcError } from '../../src/protocol/index.ts'
import { RefusalLimiter, seededRandom, VirtualTime } from '../../src/runtime/index.ts'
import { workerAddress } from '../../src/worker/address.ts'
import { RpcClient } from '../../src/worker/rpc-client.ts'
import { Peer } from '../../src/worker-test/index.ts'
import { runTurns, advanceUntil } from './fixtures.ts'

let time: VirtualTime
let peer: Peer
let tokens: string[]
let client: RpcClient

beforeEach(async () => {
  time = new VirtualTime()
  tokens = ['first']
  peer = await new Peer().start()
  client = clientOf(peer.url)
})

afterEach(async () => {
  await client.close()
  await peer.close()
})

function clientOf(masterUrl: string): RpcClient {
  const { origin, rpcPath } = workerAddress(masterUrl, 'render', 'w1')
  return new RpcClient({
    clock: time,
    timers: time,
    origin,
    rpcPath,
    token: () => tokens.at(-1) ?? '',
    connections: 4,
    refusals: new RefusalLimiter({ clock: time, timers: time, random: seededRandom(1) }),
  })
}

const failure = async (call: Promise<unknown>): Promise<RpcError> => {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof RpcError)) throw new Error(`expected an RpcError, got ${String(error)}`)
  return error
}

describe('the rpc client', () => {
  it('calls a method with the current token', async () => {
    peer.rpcMethods['kv.get'] = ({ key }) => ({ value: `of ${String(key)}` })
    expect(await client.call('kv.get', { key: 'k' })).toEqual({ value: 'of k' })
    tokens.push('second')
    await client.call('kv.get', { key: 'k' })
    expect(peer.requests.map(({ method, url, headers }) => [method, url, headers.authorization])).toEqual([
      ['POST', '/api/v1/automations/render/workers/w1/rpc', 'Bearer first'],
      ['POST', '/api/v1/automations/render/workers/w1/rpc', 'Bearer second'],
    ])
  })

  it('returns the results and errors of a batch in the order of its calls', async () => {
    peer.rpcMethods['counter.get'] = () => ({ value: 3 })
    peer.rpcMethods['pool.claim'] = () => ({
      error: { code: -32004, message: 'there is no pool "x"', data: { code: 'unknown_pool' } },
    })
    const [first, second] = await client.batch([
      { method: 'pool.claim', params: { pool: 'x', hold_ms: 1_000 } },
      { method: 'counter.get', params: { name: 'n' } },
    ])
    expect(first).toMatchObject({ ok: false, error: { code: 'unknown_pool', message: 'there is no pool "x"' } })
    expect(second).toEqual({ ok: true, result: { value: 3 } })
    expect(peer.rpcBodies).toEqual([2])
  })

  it('throws the error of the master', async () => {
    peer.rpcMethods['lock.extend'] = () => ({
      error: { code: -32001, message: 'the lock was lost', data: { code: 'lease_lost' } },
    })
    expect(await failure(client.call('lock.extend', { name: 'l', token: 1, hold_ms: 1_000 }))).toMatchObject({
      code: 'lease_lost',
      message: 'the lock was lost',
    })
  })

  it('reports the outcome "unknown" after a timeout', async () => {
    peer.silent = true
    const call = failure(client.call('counter.add', { name: 'n', delta: 1 }, { timeoutMs: 5_000 }))
    await advanceUntil(time, 'the request arrives', () => peer.requests.length === 1)
    await time.advance(5_000)
    expect(await call).toMatchObject({ code: 'unavailable', data: { outcome: 'unknown' } })
  })

  it('reports the outcome "not_sent" without a connection', async () => {
    await peer.close()
    expect(await failure(client.call('counter.add', { name: 'n', delta: 1 }))).toMatchObject({
      code: 'unavailable',
      data: { outcome: 'not_sent' },
    })
  })

  it('reports status and Retry-After of a rejected request', async () => {
    peer.rpcStatus = 403
    const error = await failure(client.call('counter.get', { name: 'n' }))
    expect(error).toMatchObject({ code: 'unavailable', data: { status: 403, outcome: 'not_sent' } })
    expect(error.message).toContain('correct the worker token')
    expect(error.message).not.toContain('first')
  })

  it('aborts a call with its signal', async () => {
    peer.silent = true
    const abort = new AbortController()
    const call = failure(client.call('tasks.reserve', { limit: 1 }, { signal: abort.signal }))
    await advanceUntil(time, 'the request arrives', () => peer.requests.length === 1)
    abort.abort(new Error('enough'))
    expect((await call).message).toContain('enough')
    await runTurns()
    expect(time.pending).toBe(0)
  })

  it('sends the given headers when it reads the config', async () => {
    const answer = await client.get('/api/v1/automations/render/workers/w1/config', { 'if-none-match': '"e1.1"' })
    expect([answer.status, answer.headers['etag']]).toEqual([304, '"e1.1"'])
  })
})
