import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { connect } from 'node:net'
import { once } from 'node:events'
import { Peer } from '../../src/worker-test/index.ts'

let peer: Peer
let faults: string[]
beforeEach(async () => {
  faults = []
  peer = await new Peer().start()
  peer.onFault = (fault) => void faults.push(fault)
})
afterEach(() => peer.close())

const rpcPath = '/api/v1/automations/worker-test/workers/w-1/rpc'
const post = (body: string): Promise<Response> => fetch(`${peer.url}${rpcPath}`, { method: 'POST', body })

describe('the master of the kit', () => {
  it.each([
    '{',
    'null',
    '[null]',
    '{"id":1,"method":"tasks.ack"}',
    '{"id":1,"params":{}}',
    '[{"method":7,"params":{}}]',
  ])('reports a body that is not JSON-RPC, and continues: %s', async (body) => {
    expect((await post(body)).status).toBe(400)
    expect(faults).toEqual([expect.stringContaining('is not JSON-RPC')])
    expect((await post('[]')).status).toBe(200)
  })

  it('reports a method that it does not have', async () => {
    const response = await post('{"jsonrpc":"2.0","id":1,"method":"kv.get","params":{"key":"a"}}')
    expect(await response.json()).toMatchObject({ id: 1, error: { code: -32_601, data: { code: 'method_not_found' } } })
    expect(faults).toEqual([expect.stringContaining('kv.get')])
  })

  it.each([
    ['stream', 'text/plain', 1],
    ['', 'application/x-ndjson', 1],
    ['stream', 'application/x-ndjson', 0],
  ])('reports a stream that may not be used: with the feature "%s" and accept %s', async (features, accept, count) => {
    peer.features = features
    const body = '[{"jsonrpc":"2.0","id":1,"method":"tasks.reserve","params":{"limit":1,"stream":true}}]'
    const response = await fetch(`${peer.url}${rpcPath}`, { method: 'POST', body, headers: { accept } })
    expect(JSON.parse((await response.text()).replace(/^\[|\]$/g, ''))).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: { tasks: [] },
    })
    expect(faults).toHaveLength(count)
  })

  it('continues after a connection that ended inside a body', async () => {
    const socket = connect(peer.port, '127.0.0.1')
    await once(socket, 'connect')
    socket.write(`POST ${rpcPath} HTTP/1.1\r\nHost: peer\r\nContent-Length: 100\r\n\r\n{"id"`)
    socket.destroy()
    await once(socket, 'close')
    expect((await post('[]')).status).toBe(200)
    expect(faults).toEqual([])
  })
})
