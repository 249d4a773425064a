/**
 * Details of the wire format: numbers that do not fit a double, null fields, fragmented frames. Texts are written and
 * compared as texts.
 */
import { expect, it } from '@jest/globals'
import { API, eventuallyMatches, HARDWARE, onEachStore, WORKER, type Json, type ConformanceFixture } from './fixture.ts'

/** 2^53 + 1, the smallest positive integer that a double cannot hold, and other numbers of 64-bit clients. */
const BIG = '9007199254740993'
const NUMBERS =
  `{"id":${BIG},"signed":-9223372036854775808,"unsigned":18446744073709551615,` +
  `"price":0.1234567890123456789,"list":[${BIG},{"deep":${BIG}}]}`

onEachStore('wire', (open) => {
  const withWorker = async (type = 'brief'): Promise<ConformanceFixture> => {
    const fixture = await open()
    await fixture.worker('w-1', { type })
    return fixture
  }
  const automations = `${API}/automations`
  const text = async (
    fixture: ConformanceFixture,
    method: string,
    path: string,
    body?: string,
    token?: string,
  ): Promise<string> => {
    const answer = await fixture.call(method, path, {
      ...(body !== undefined && { body }),
      ...(token !== undefined && { token }),
    })
    expect([path, answer.status]).toEqual([path, 200])
    return answer.text
  }
  const rpc = (
    fixture: ConformanceFixture,
    method: string,
    params: string,
    type = 'brief',
    id = '1',
  ): Promise<string> =>
    text(
      fixture,
      'POST',
      `${automations}/${type}/workers/w-1/rpc`,
      `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`,
      WORKER,
    )

  it('D75a: keeps the numbers of a payload exactly, from submit to reserve, queue and dead letters', async () => {
    const fixture = await withWorker()
    await text(fixture, 'POST', `${automations}/brief/tasks`, `{"task_id":"one","payload":${NUMBERS}}`)
    await text(
      fixture,
      'POST',
      `${automations}/brief/tasks/batch`,
      `{"tasks":[{"payload":1},{"task_id":"two","payload":${NUMBERS}},{"task_id":"three","payload":{"n":1}}]}`,
    )
    const queue = await text(fixture, 'GET', `${automations}/brief/queue`)
    expect(queue.split(`"payload":${NUMBERS}`)).toHaveLength(3)
    expect(queue).toContain('"payload":{"n":1}')
    const reserved = await rpc(fixture, 'tasks.reserve', '{"limit":1}')
    expect(reserved).toContain(`"payload":${NUMBERS}`)
    await fixture.settle('w-1', 'nack', JSON.parse(reserved).result.tasks[0], { permanent: true }, 'brief')
    expect(await text(fixture, 'GET', `${automations}/brief/dead`)).toContain(`"payload":${NUMBERS}`)
    expect(await text(fixture, 'POST', `${automations}/brief/tasks/validate`, `{"payload":${NUMBERS}}`)).toContain(
      '"valid":true',
    )
  })

  it('D75b: keeps the numbers of values, messages and outputs exactly', async () => {
    const fixture = await withWorker('probe')
    for (const value of [NUMBERS, BIG, `[${BIG}]`]) {
      await rpc(fixture, 'kv.set', `{"key":"k","value":${value}}`, 'probe')
      expect(await rpc(fixture, 'kv.get', '{"key":"k"}', 'probe')).toContain(`"value":${value}`)
    }
    if (fixture.capabilities.pubsub) {
      const bus = await fixture.listen(`${automations}/probe/workers/w-1/bus?topic=t`, { token: WORKER })
      await eventuallyMatches(async () => ({ text: bus.text() }), { text: expect.stringContaining('listening') })
      await rpc(fixture, 'bus.publish', `{"topic":"t","message":${NUMBERS}}`, 'probe')
      await eventuallyMatches(async () => ({ text: bus.text() }), {
        text: expect.stringContaining(`"message":${NUMBERS}}`),
      })
    }
    const worker = await fixture.worker('w-2', { type: 'probe' })
    worker.send(`{"type":"output","slot_id":1,"ts":1,"payload":${NUMBERS}}`)
    worker.send(
      '{"type":"output_batch","outputs":[{"slot_id":1,"ts":2,"payload":{"n":1}},' +
        `{"slot_id":1,"ts":2,"payload":${NUMBERS}}]}`,
    )
    await eventuallyMatches(() => fixture.ok('GET', '/probe/output/length'), { length: 3 })
    for (const [method, path] of [
      ['GET', 'peek'],
      ['GET', 'tail'],
      ['POST', 'pop'],
    ] as const) {
      expect(
        (await text(fixture, method, `${automations}/probe/output/${path}`)).split(`"payload":${NUMBERS}`),
      ).toHaveLength(3)
    }
  })

  it('D75c: keeps numbers of a pool payload exactly; rejects and names inexact numbers in parsed fields', async () => {
    const fixture = await open({})
    await fixture.worker('w-1', { type: 'brief' })
    const put = (tags: string, payload: string): Promise<string> =>
      rpc(fixture, 'pool.put', `{"pool":"ids","items":[{"id":"a","tags":${tags},"payload":${payload}}]}`)
    expect(await put('{"n":1}', NUMBERS)).toContain('created')
    expect(await rpc(fixture, 'pool.claim', '{"pool":"ids","hold_ms":1000}')).toContain(`"payload":${NUMBERS}`)
    expect(await text(fixture, 'GET', `${API}/pools/ids`)).toContain(`"payload":${NUMBERS}`)
    expect(JSON.parse(await put(`{"n":${BIG}}`, '{}')).error).toMatchObject({
      code: -32_602,
      data: { errors: [{ path: '/items/0/tags/n' }] },
    })
    expect(
      JSON.parse(await rpc(fixture, 'pool.claim', `{"pool":"ids","hold_ms":1000,"match":{"n":${BIG}}}`)).error,
    ).toMatchObject({ data: { errors: [{ path: '/match/n' }] } })

    await fixture.worker('m-1')
    const config = `{"limits":{"ids":[1,${BIG}],"share":0.1234567890123456789,"mass":1e300}}`
    for (const [method, path] of [
      ['PATCH', 'config'],
      ['POST', 'config/validate'],
    ] as const) {
      const { status, body } = await fixture.call(method, `${automations}/mailer/workers/m-1/${path}`, { body: config })
      expect([status, body.detail]).toEqual([
        422,
        [
          {
            path: '/limits/ids/1',
            message: expect.stringContaining('9007199254740992; send it as a string'),
            keyword: 'exact',
            params: { nearest: 9_007_199_254_740_992 },
          },
        ],
      ])
    }
    expect((await fixture.record('m-1')).config_gen).toBe(0)
    expect(
      (await fixture.patch('m-1', { limits: { ids: [2 ** 53, 2 ** 60, 1e23], name: BIG } })).config.limits,
    ).toEqual({
      ids: [2 ** 53, 2 ** 60, 1e23],
      name: BIG,
    })
  })

  it('D75d: returns the id of a call exactly as it was sent', async () => {
    const fixture = await withWorker()
    for (const id of [BIG, '-18446744073709551615', '0.1234567890123456789', '7', '"7"', 'null']) {
      expect(await rpc(fixture, 'kv.get', '{"key":"k"}', 'brief', id)).toBe(
        `{"jsonrpc":"2.0","id":${id},"result":{"value":null}}`,
      )
    }
    expect(await rpc(fixture, 'nope', '{}', 'brief', BIG)).toContain(`"id":${BIG},"error"`)
    expect(
      await text(
        fixture,
        'POST',
        `${automations}/brief/workers/w-1/rpc`,
        `[{"id":${BIG}},{"jsonrpc":"2.0","id":9007199254740995,"method":"kv.get","params":{"key":"k"}}]`,
        WORKER,
      ),
    ).toMatch(/"id":9007199254740993,"error".*"id":9007199254740995,"result"/)
  })

  it('D75e: drops, counts and logs an output with a number too large for a double, and keeps the others', async () => {
    const fixture = await withWorker('probe')
    const worker = await fixture.worker('w-2', { type: 'probe' })
    worker.send(
      '{"type":"output_batch","outputs":[{"slot_id":1,"ts":2,"payload":{"n":[1e400]}},' +
        `{"slot_id":1,"ts":2,"payload":{"n":${BIG}}}]}`,
    )
    worker.send('{"type":"output","slot_id":1,"ts":2,"payload":{"n":-1e999}}')
    await worker.received()
    await eventuallyMatches(() => fixture.ok('GET', '/probe/output/length'), { length: 1 })
    expect(await fixture.metric('svc_outputs_dropped_total{automation_type="probe",reason="invalid"}')).toBe('2')
    expect(fixture.lines.find(({ message }) => message === 'an output was dropped')?.fields).toMatchObject({
      worker_id: 'w-2',
      why: '/n/0: is too large for a number',
    })
    expect(await text(fixture, 'GET', `${automations}/probe/output/peek`)).toContain(`"payload":{"n":${BIG}}`)
    expect((await fixture.call('POST', `${automations}/brief/tasks`, { body: '{"payload":{"n":1e400}}' })).status).toBe(
      422,
    )
  })

  it('D76a: accepts null for every optional field', async () => {
    const fixture = await open()
    const worker = await fixture.connect('w-1', { type: 'brief' })
    worker.send({
      type: 'register',
      worker_id: 'w-1',
      automation_type: 'brief',
      protocol_version: 1,
      hardware: HARDWARE,
      instance_id: null,
    })
    worker.stats({ per_slot: null })
    await worker.received()
    await eventuallyMatches(() => fixture.record('w-1', 'brief'), {
      current_stats: expect.objectContaining({ per_slot: [] }),
    })
    const nothing = { task_id: null, priority: null, ttl_seconds: null, max_attempts: null, idempotency_key: null }
    expect(await fixture.submit(nothing, 'brief')).toEqual({ task_id: expect.any(String), queued: true, priority: 0 })
    expect(
      (await fixture.ok('POST', '/brief/tasks/batch', { tasks: [{ payload: {}, ...nothing }] })).results[0].queued,
    ).toBe(true)
    const call = (method: string, params: object): Promise<Json> => fixture.rpc('w-1', method, params, 'brief')
    const {
      tasks: [task],
    } = await call('tasks.reserve', { limit: 1, wait_ms: null, poll_id: null })
    expect(
      await call('tasks.nack', {
        tasks: [{ task_id: task.task_id, token: task.token, error: 'x', retry_in_ms: null, permanent: null }],
      }),
    ).toMatchObject({ results: [{ ok: true, outcome: 'scheduled' }] })
    await call('kv.set', { key: 'k', value: 1, ttl_ms: null, namespace: null })
    expect(await call('kv.get', { key: 'k', namespace: null })).toEqual({ value: 1 })
    expect(await call('kv.get', { key: 'k', namespace: 'brief' })).toEqual({ value: 1 })
    expect(await call('kv.delete', { key: 'k', namespace: null })).toEqual({ deleted: true })
    const { token } = await call('lock.acquire', { name: 'l', hold_ms: 1_000, namespace: null })
    await call('lock.extend', { name: 'l', token, hold_ms: 1_000, namespace: null })
    expect(await call('lock.release', { name: 'l', token, namespace: null })).toEqual({})
    expect(await call('counter.add', { name: 'c', delta: 2, namespace: null })).toEqual({ value: 2 })
    expect(await call('counter.get', { name: 'c', namespace: null })).toEqual({ value: 2 })
    await call('pool.put', { pool: 'ids', items: [{ id: 'a', tags: {}, payload: {}, expires_at: null }] })
    expect((await call('pool.claim', { pool: 'ids', hold_ms: 1_000, n: null, match: null })).claims).toHaveLength(1)
    await fixture.time.advance(2_000)
    expect(await call('pool.remove', { pool: 'ids', id: 'a', token: null })).toEqual({ removed: true })
    for (const [path, reply] of [
      ['/brief/output/pop', []],
      ['/brief/dead/replay', { replayed: 0 }],
    ] as const)
      expect(await fixture.ok('POST', path, { n: null })).toEqual(reply)
    worker.socket.terminate()
  })

  it('D76b: accepts `since` with an exponent, as Java and Go write it', async () => {
    const fixture = await withWorker()
    expect(await fixture.ok('GET', '/brief/workers/w-1/stats?since=1.7953946295E9')).toEqual([])
    expect(await fixture.status('GET', '/brief/queue/stats?since=1e400')).toBe(422)
  })

  it('D77a: accepts settling, values, locks and counters for an unregistered worker id', async () => {
    const fixture = await withWorker()
    const call = (method: string, params: object): Promise<Json> => fixture.rpc('stranger', method, params, 'brief')
    const { task_id } = await fixture.submit({}, 'brief')
    const [task] = await fixture.reserve('w-1', 1, 'brief')
    expect(await call('tasks.extend', { tasks: [{ task_id, token: task.token }] })).toMatchObject({
      results: [{ ok: true }],
    })
    expect(await call('tasks.ack', { tasks: [{ task_id, token: task.token }] })).toEqual({ results: [{ ok: true }] })
    expect(await fixture.place(task_id, 'brief')).toBe('gone')
    expect(await call('kv.set', { key: 'k', value: 1 })).toEqual({})
    expect(await call('lock.acquire', { name: 'l', hold_ms: 1_000 })).toMatchObject({ acquired: true })
    expect(await call('counter.add', { name: 'c', delta: 1 })).toEqual({ value: 1 })
    expect(await call('tasks.reserve', { limit: 1 })).toMatchObject({ data: { code: 'unknown_worker' } })
  })

  it('D74: accepts a frame of 1 MiB in any number of fragments', async () => {
    const fixture = await withWorker('probe')
    const worker = await fixture.worker('w-2', { type: 'probe' })
    const frame = JSON.stringify({ type: 'output', slot_id: 1, ts: 1, payload: { text: '' } }).replace(
      '""',
      `"${'x'.repeat(1_048_000)}"`,
    )
    for (let at = 0; at < frame.length; at += 100)
      worker.socket.send(frame.slice(at, at + 100), { fin: at + 100 >= frame.length })
    await eventuallyMatches(() => fixture.ok('GET', '/probe/output/length'), { length: 1 })
    await worker.received()
    expect((await fixture.record('w-2', 'probe')).connected).toBe(true)
  })
})
