/** The JSON-RPC protocol: shapes, errors, batches and notifications. Other files test the methods. */
import { afterEach, describe, expect, it } from '@jest/globals'
import { FleetError, RPC_METHODS } from '../../../src/protocol/index.ts'
import { UNAVAILABLE, settled, QueueFixture, type QueueFixtureOptions } from '../queue/fixture.ts'
import { Watched } from '../queue/watched.ts'

let fixture: QueueFixture
async function open(options: QueueFixtureOptions = {}): Promise<QueueFixture> {
  fixture = await QueueFixture.open(options)
  await fixture.workers(['w', 'v'])
  return fixture
}
afterEach(() => fixture.close())

const call = (method: string, params?: unknown, id: unknown = 1): object => ({
  jsonrpc: '2.0',
  method,
  ...(params !== undefined && { params }),
  ...(id !== undefined && { id }),
})
const get = (key: string, id: unknown = 1): object => call('kv.get', { key }, id)

describe('a single call', () => {
  it.each([
    ['text', 'a "b"'],
    ['number', 7],
    ['fraction', 0.5],
    ['null', null],
  ])('gets a response with its id: %s', async (_, id) => {
    await open()
    expect((await fixture.post('w', get('k', id))).json).toEqual({ jsonrpc: '2.0', id, result: { value: null } })
  })

  it.each([
    ['no version', { id: 1, method: 'kv.get' }, 1],
    ['another version', { jsonrpc: '1.0', id: 1, method: 'kv.get' }, 1],
    ['no method', { jsonrpc: '2.0', id: 'x' }, 'x'],
    ['a method that is not text', { jsonrpc: '2.0', id: 1, method: 7 }, 1],
    ['an id that is an object', { jsonrpc: '2.0', id: {}, method: 'kv.get' }, null],
    ['params that are a number', { jsonrpc: '2.0', id: 1, method: 'kv.get', params: 7 }, 1],
  ])('with %s is an invalid request', async (_, body, id) => {
    await open()
    const { status, json } = await fixture.post('w', body)
    expect(status).toBe(200)
    expect(json).toEqual({
      jsonrpc: '2.0',
      id,
      error: { code: -32_600, message: expect.any(String), data: { code: 'invalid_request' } },
    })
  })

  it.each(['nope', 'toString', '__proto__', 'tasks.', 'TASKS.ACK'])(
    'of the unknown method %s returns method_not_found (S13)',
    async (method) => {
      await open()
      expect((await fixture.post('w', call(method, {}))).json).toMatchObject({
        id: 1,
        error: { code: -32_601, data: { code: 'method_not_found' } },
      })
    },
  )

  it('with invalid params returns every fault with its pointer (D14)', async () => {
    await open()
    const { json } = await fixture.post('w', call('tasks.reserve', { limit: 0, wait_ms: 30_001, more: 1 }))
    expect(json).toMatchObject({ error: { code: -32_602, data: { code: 'invalid_params' } } })
    const { errors } = (json as { error: { data: { errors: { path: string }[] } } }).error.data
    expect(errors.map(({ path }) => path).toSorted()).toEqual(['/limit', '/more', '/wait_ms'])
  })

  it('with params in a list, or without required params, returns invalid_params', async () => {
    await open()
    for (const params of [['k'], undefined])
      expect((await fixture.post('w', call('kv.get', params))).json).toMatchObject({ error: { code: -32_602 } })
  })

  it.each(RPC_METHODS.filter((method) => method !== 'tasks.reserve'))(
    '%s without params is rejected, not executed',
    async (method) => {
      const store = new Watched()
      await open({ backend: store.wrap })
      const before = store.calls.length
      expect((await fixture.post('w', call(method, {}))).json).toMatchObject({ error: { code: -32_602 } })
      expect(store.calls).toHaveLength(before)
    },
  )

  it('while the store is unavailable returns the error unavailable, with a time to retry (G18)', async () => {
    const store = new Watched()
    await open({ backend: store.wrap })
    const calls = [
      get('k'),
      call('tasks.ack', { tasks: [{ task_id: 'x', token: 1 }] }),
      call('tasks.reserve', { limit: 1 }),
      call('counter.add', { name: 'n', delta: 1 }),
    ]
    for (const error of [
      UNAVAILABLE,
      new FleetError('STORAGE_OVERLOADED', 'busy'),
      new FleetError('STORAGE_FULL', 'full'),
    ]) {
      store.failure = () => error
      for (const each of calls) {
        const { json } = await fixture.post('w', each)
        expect(json).toMatchObject({
          error: {
            code: -32_003,
            data: { code: 'unavailable', retry_after_ms: error === UNAVAILABLE ? 2_000 : 1_000 },
          },
        })
        expect(JSON.stringify(json)).not.toContain('/its/path')
      }
    }
    store.failure = () => undefined
  })

  it('that fails inside the master returns no cause to the worker, and logs the cause', async () => {
    const store = new Watched()
    await open({ backend: store.wrap })
    store.failure = (name) => (name === 'kv.get' ? new TypeError('secret detail') : undefined)
    const { json } = await fixture.post('w', get('k'))
    expect(json).toMatchObject({ error: { code: -32_003 } })
    expect(JSON.stringify(json)).not.toContain('secret detail')
    expect(fixture.log.lines.at(-1)).toMatchObject({ level: 'error', fields: { method: 'kv.get' } })
    expect(await fixture.metric('svc_rpc_errors_total')).toContain('code="unavailable"} 1')
  })
})

describe('a batch', () => {
  it('returns the results in the order of its calls, each independent of the others', async () => {
    await open()
    const { json } = await fixture.post('w', [
      get('a', 'x'),
      call('nope', {}, 'y'),
      7,
      call('counter.add', { name: 'n', delta: 2 }, 'z'),
    ])
    expect(json).toMatchObject([
      { id: 'x', result: { value: null } },
      { id: 'y', error: { code: -32_601 } },
      { id: null, error: { code: -32_600 } },
      { id: 'z', result: { value: 2 } },
    ])
  })

  it.each([0, 1_001])('of %i calls is one invalid request', async (length) => {
    await open()
    const { json } = await fixture.post(
      'w',
      Array.from({ length }, () => get('a')),
    )
    expect(json).toMatchObject({ id: null, error: { code: -32_600, data: { code: 'invalid_request' } } })
  })

  it('of 1,000 calls is executed', async () => {
    await open()
    const { json } = await fixture.post(
      'w',
      Array.from({ length: 1_000 }, (_, id) => call('counter.add', { name: 'n', delta: 1 }, id)),
    )
    expect((json as { result: { value: number } }[]).map(({ result }) => result.value)).toEqual(
      Array.from({ length: 1_000 }, (_, at) => at + 1),
    )
  })

  it('combines calls of one kind in one store call', async () => {
    const store = new Watched()
    await open({ backend: store.wrap })
    const ids = [await fixture.submit(), await fixture.submit(), await fixture.submit()]
    const leases = await fixture.take('w', 3)
    await fixture.post(
      'w',
      leases.map(({ task_id, token }, id) => call('tasks.ack', { tasks: [{ task_id, token }] }, id)),
    )
    expect(store.named('tasks.ack').map(([, refs]) => (refs as { id: string }[]).map(({ id }) => id))).toEqual([ids])
  })
})

describe('a notification', () => {
  it('is executed and gets no response', async () => {
    await open()
    const note = { jsonrpc: '2.0', method: 'counter.add', params: { name: 'n', delta: 5 } }
    expect(await fixture.post('w', note)).toMatchObject({ status: 204, json: null })
    expect((await fixture.post('w', [note, call('counter.get', { name: 'n' })])).json).toEqual([
      { jsonrpc: '2.0', id: 1, result: { value: 10 } },
    ])
    expect(await fixture.post('w', [note, note])).toMatchObject({ status: 204 })
  })

  it('that is invalid gets no response either', async () => {
    await open()
    for (const note of [
      { jsonrpc: '2.0', method: 'nope' },
      { jsonrpc: '2.0', method: 'kv.get', params: {} },
    ])
      expect((await fixture.post('w', note)).status).toBe(204)
  })

  it('grants no lease, claim or lock, because no client could end it', async () => {
    await open()
    const id = await fixture.submit()
    await fixture.rpc('w', 'pool.put', { pool: 'accounts', items: [{ id: 'a', tags: {}, payload: { login: 'a' } }] })
    const notes = [
      ['tasks.reserve', { limit: 1 }],
      ['pool.claim', { pool: 'accounts', hold_ms: 1_000 }],
      ['lock.acquire', { name: 'l', hold_ms: 1_000 }],
    ]
    expect(
      (
        await fixture.post(
          'w',
          notes.map(([method, params]) => ({ jsonrpc: '2.0', method, params })),
        )
      ).status,
    ).toBe(204)
    expect(await fixture.place(id)).toBe('pending')
    expect((await fixture.rpc('w', 'pool.claim', { pool: 'accounts', hold_ms: 1_000 })).claims).toHaveLength(1)
    expect(await fixture.rpc('w', 'lock.acquire', { name: 'l', hold_ms: 1_000 })).toMatchObject({ acquired: true })
  })
})

describe('a client that disconnects', () => {
  it('before its response is written returns its leases immediately (S13)', async () => {
    await open()
    const id = await fixture.submit()
    const client = new AbortController()
    await fixture.rpc('w', 'tasks.reserve', { limit: 1 }, { signal: client.signal })
    expect(await fixture.place(id)).toBe('in_flight')
    client.abort()
    await settled(fixture)
    expect(await fixture.place(id)).toBe('pending')
  })

  it('while another call of its batch is in progress returns what the first call was granted', async () => {
    const store = new Watched()
    await open({ backend: store.wrap })
    const id = await fixture.submit()
    let letGo = (): void => {}
    const held = new Promise<void>((resolve) => (letGo = resolve))
    store.gate = (name) => (name === 'kv.get' ? held : undefined)
    const client = new AbortController()
    const reply = fixture.post('w', [call('tasks.reserve', { limit: 1 }), get('k', 2)], { signal: client.signal })
    await settled(fixture)
    expect(await fixture.place(id)).toBe('in_flight')
    client.abort()
    letGo()
    expect((await reply).status).toBe(503)
    await settled(fixture)
    expect(await fixture.place(id)).toBe('pending')
  })
})
