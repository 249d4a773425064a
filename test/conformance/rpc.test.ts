/** The JSON-RPC route of workers: primitives, batches, errors. Tasks are in tasks.test.ts, pools in pools.test.ts. */
import { expect, it } from '@jest/globals'
import { API, onEachStore, SECOND, WORKER, type Json, type ConformanceFixture } from './fixture.ts'
import { eventually } from '../kit/index.ts'

onEachStore('rpc', (open) => {
  const withWorker = async (): Promise<ConformanceFixture> => {
    const fixture = await open()
    await fixture.worker('w-1')
    return fixture
  }
  const post = (fixture: ConformanceFixture, body: unknown, id = 'w-1') =>
    fixture.call('POST', `${API}/automations/mailer/workers/${id}/rpc`, { token: WORKER, body })
  const call = (method: string, params: object, id: unknown = 1) => ({ jsonrpc: '2.0', id, method, params })

  it('D23a, D60l: responds to one call or a batch with HTTP 200', async () => {
    const fixture = await withWorker()
    const single = await post(fixture, call('counter.get', { name: 'n' }, 'a'))
    expect([single.status, single.body]).toEqual([200, { jsonrpc: '2.0', id: 'a', result: { value: 0 } }])
    const batch = await post(fixture, [
      call('counter.add', { name: 'n', delta: 2 }, 1),
      call('nope', {}, 2),
      { jsonrpc: '2.0', method: 'counter.add', params: { name: 'n', delta: 1 } },
      call('counter.get', { name: 'n' }, 3),
    ])
    expect([batch.status, batch.body.length]).toEqual([200, 3])
    expect(batch.body).toMatchObject([{ id: 1, result: { value: 2 } }, { id: 2, error: { code: -32_601 } }, { id: 3 }])
    expect((await post(fixture, '{')).status).toBe(400)
  })

  it('D60m: returns the documented error codes', async () => {
    const fixture = await withWorker()
    const error = async (body: unknown, id?: string): Promise<Json> => (await post(fixture, body, id)).body.error
    expect(await error({ id: 1, method: 'kv.get' })).toMatchObject({ code: -32_600 })
    expect(await error(call('toString', {}))).toMatchObject({ code: -32_601 })
    expect(await error(call('kv.get', { key: 7, colour: 'red' }))).toMatchObject({
      code: -32_602,
      data: {
        errors: expect.arrayContaining([
          expect.objectContaining({ path: '/key' }),
          expect.objectContaining({ path: '/colour' }),
        ]),
      },
    })
    expect(await error(call('lock.release', { name: 'l', token: 1 }))).toMatchObject({
      code: -32_001,
      data: { code: 'lease_lost' },
    })
    expect(await error(call('tasks.reserve', { limit: 1 }), 'unknown')).toMatchObject({
      code: -32_002,
      data: { code: 'unknown_worker' },
    })
    await fixture.rpc('w-1', 'counter.add', { name: 'n', delta: Number.MAX_SAFE_INTEGER })
    expect(await error(call('counter.add', { name: 'n', delta: 1 }))).toMatchObject({
      code: -32_005,
      data: { code: 'out_of_range' },
    })
  })

  it('primitive/kv, D60e: stores values by namespace, with an optional TTL', async () => {
    const fixture = await withWorker()
    expect(await fixture.rpc('w-1', 'kv.get', { key: 'k' })).toEqual({ value: null })
    expect(await fixture.rpc('w-1', 'kv.set', { key: 'k', value: { a: [1] }, ttl_ms: 5_000 })).toEqual({})
    await fixture.rpc('w-1', 'kv.set', { key: 'k', value: 'other', namespace: 'elsewhere' })
    expect([
      await fixture.rpc('w-1', 'kv.get', { key: 'k' }),
      await fixture.rpc('w-1', 'kv.get', { key: 'k', namespace: 'mailer' }),
    ]).toEqual([{ value: { a: [1] } }, { value: { a: [1] } }])
    fixture.time.jump(5 * SECOND)
    expect(await fixture.rpc('w-1', 'kv.get', { key: 'k' })).toEqual({ value: null })
    expect([
      await fixture.rpc('w-1', 'kv.delete', { key: 'k', namespace: 'elsewhere' }),
      await fixture.rpc('w-1', 'kv.delete', { key: 'k' }),
    ]).toEqual([{ deleted: true }, { deleted: false }])
  })

  it('primitive/lock, D60f: grants a lock to one owner, and only that owner can release it', async () => {
    const fixture = await withWorker()
    const acquire = (): Promise<Json> => fixture.rpc('w-1', 'lock.acquire', { name: 'l', hold_ms: 10_000 })
    const first = await acquire()
    expect(first).toEqual({ acquired: true, token: expect.any(Number), expires_at: fixture.now + 10 })
    expect(await acquire()).toEqual({ acquired: false, held_until: fixture.now + 10 })
    expect(await fixture.rpc('w-1', 'lock.extend', { name: 'l', token: first.token, hold_ms: 20_000 })).toEqual({
      expires_at: fixture.now + 20,
    })
    expect(await fixture.rpc('w-1', 'lock.release', { name: 'l', token: first.token + 1 })).toMatchObject({
      code: -32_001,
    })
    fixture.time.jump(20 * SECOND)
    const second = await acquire()
    expect(second.token).toBeGreaterThan(first.token)
    expect(await fixture.rpc('w-1', 'lock.release', { name: 'l', token: first.token })).toMatchObject({ code: -32_001 })
    expect([
      await fixture.rpc('w-1', 'lock.release', { name: 'l', token: second.token }),
      (await acquire()).acquired,
    ]).toEqual([{}, true])
  })

  it('primitive/counter, D60g: adds exactly and never expires', async () => {
    const fixture = await withWorker()
    await Promise.all(Array.from({ length: 50 }, () => fixture.rpc('w-1', 'counter.add', { name: 'n', delta: 2 })))
    fixture.time.jump(1_000_000 * SECOND)
    expect(await fixture.rpc('w-1', 'counter.add', { name: 'n', delta: -1 })).toEqual({ value: 99 })
    expect(await fixture.rpc('w-1', 'counter.get', { name: 'n', namespace: 'elsewhere' })).toEqual({ value: 0 })
  })

  it('D23b: implements every documented method', async () => {
    const fixture = await withWorker()
    const methods = [
      'tasks.reserve',
      'tasks.ack',
      'tasks.nack',
      'tasks.extend',
      'tasks.release',
      'kv.get',
      'kv.set',
      'kv.delete',
      'lock.acquire',
      'lock.extend',
      'lock.release',
      'counter.add',
      'counter.get',
      'pool.put',
      'pool.claim',
      'pool.extend',
      'pool.release',
      'pool.remove',
      'bus.publish',
    ]
    const { body } = await post(
      fixture,
      methods.map((method) => call(method, { colour: 'red' }, method)),
    )
    expect(body.map(({ id, error }: Json) => [id, error.code])).toEqual(methods.map((method) => [method, -32_602]))
  })

  it(
    'bus/topics, bus/no-persistence, bus/emit, bus/no-op, D23d, D60h: ' +
      'delivers messages to subscribers if the store has a bus',
    async () => {
      const fixture = await withWorker()
      const publish = (message: unknown): Promise<Json> => fixture.rpc('w-1', 'bus.publish', { topic: 'news', message })
      expect(await publish('before')).toEqual({})
      const { status, contentType, text } = await fixture.listen(
        `${API}/automations/mailer/workers/w-1/bus?topic=news&topic=mailer.emit`,
        { token: WORKER },
      )
      expect([status, contentType]).toEqual([200, expect.stringMatching(/^text\/event-stream/)])
      await eventually(() => text() !== '') // The first bytes mean that the subscription is active.
      await publish({ n: 1 })
      const other = await fixture.worker('w-2')
      other.output({ sent: true })
      await eventually(async () => (await fixture.ok('GET', '/mailer/output/length')).length === 1)
      if (fixture.capabilities.pubsub)
        await eventually(() => text().includes('"n":1') && text().includes('"sent":true'))
      else expect(text()).not.toContain('"n":1')
      expect(text()).not.toContain('before')
    },
  )
})
