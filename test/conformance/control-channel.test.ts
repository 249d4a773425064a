/** The WebSocket between worker and master: order, strictness, close codes, frames. */
import { expect, it } from '@jest/globals'
import {
  ADMIN,
  eventuallyMatches,
  HARDWARE,
  onEachStore,
  SCOPED,
  WORKER,
  WORKER_PEER,
  type Json,
  type ConformanceFixture,
} from './fixture.ts'
import { eventually } from '../kit/index.ts'

onEachStore('control channel', (open) => {
  /** The close event after `frame` as the first frame of a new connection. */
  const closeOf = async (
    fixture: ConformanceFixture,
    frame: object | string,
    { registered = false }: { registered?: boolean } = {},
  ) => {
    const worker = registered ? await fixture.worker('w-1') : await fixture.connect('w-1')
    worker.send(frame)
    return worker.closed
  }
  const register = (fields: object = {}) => ({
    type: 'register',
    worker_id: 'w-1',
    automation_type: 'mailer',
    protocol_version: 1,
    hardware: HARDWARE,
    ...fields,
  })
  const state = { type: 'state', state: 'RUNNING', config_gen: 0, ts: 1, last_error: null }

  it('route/control, auth/ws-header, auth/ws-query, auth/row-ws: takes the token from header or query', async () => {
    const fixture = await open()
    for (const options of [{}, { token: WORKER_PEER }, { token: null, query: `?token=${WORKER}` }]) {
      const worker = await fixture.connect('w-1', options)
      worker.register()
      await worker.received()
      expect((await fixture.record('w-1')).connected).toBe(true)
      worker.socket.terminate()
      await eventuallyMatches(() => fixture.record('w-1'), { connected: false })
    }
  })

  it('channel/4401, close/4401, D12g: closes an accepted connection with 4401 without a worker token', async () => {
    const fixture = await open()
    for (const options of [
      { token: null },
      { token: 'wrong' },
      { token: ADMIN },
      { token: SCOPED },
      { token: null, query: '?token=wrong' },
    ]) {
      expect([options, (await (await fixture.connect('w-1', options)).closed).code]).toEqual([options, 4_401])
    }
    expect(await fixture.status('GET', '/mailer/workers/w-1')).toBe(404)
  })

  it('channel/4000, close/4000, version/protocol: closes another protocol version with 4000', async () => {
    const fixture = await open()
    expect((await closeOf(fixture, register({ protocol_version: 2 }))).code).toBe(4_000)
    expect(await fixture.ok('GET', '/mailer/workers')).toEqual([])
  })

  it('channel/json-object, D12d: closes with 1007 for a frame that is no JSON object, naming the field', async () => {
    const fixture = await open()
    for (const frame of ['{', '[]', '7', 'null', '"x"'])
      expect([frame, (await closeOf(fixture, frame, { registered: true })).code]).toEqual([frame, 1_007])
    expect(await closeOf(fixture, { ...state, state: 7 }, { registered: true })).toEqual({
      code: 1_007,
      reason: expect.stringContaining('/state'),
    })
  })

  it('channel/strict, channel/type-selects: rejects unknown and missing fields and unknown frame types', async () => {
    const fixture = await open()
    const output = { slot_id: 1, ts: 1, payload: { sent: true } }
    const frames = [
      state,
      { type: 'stats', slots: 1, cpu_pct: 1, rss_mb: 1, ts: 1, metrics: {} },
      { type: 'output', ...output },
      { type: 'output_batch', outputs: [output] },
      { type: 'ping', id: 'x' },
    ]
    for (const frame of frames)
      expect(await closeOf(fixture, { ...frame, colour: 'red' }, { registered: true })).toEqual({
        code: 1_007,
        reason: expect.stringContaining('colour'),
      })
    expect(
      await closeOf(fixture, { type: 'state', state: 'IDLE', ts: 1, last_error: null }, { registered: true }),
    ).toEqual({ code: 1_007, reason: expect.stringContaining('config_gen') })
    expect((await closeOf(fixture, register({ colour: 'red' }))).code).toBe(1_007)
    expect((await closeOf(fixture, { type: 'hello' }, { registered: true })).code).toBe(1_008)
  })

  it('state/frame-values: rejects DRAINING in a state frame', async () => {
    expect((await closeOf(await open(), { ...state, state: 'DRAINING' }, { registered: true })).code).toBe(1_007)
  })

  it('D12a, D12b: requires register as the first frame, with the names of the path', async () => {
    const fixture = await open()
    for (const frame of [state, register({ worker_id: 'w-2' }), register({ automation_type: 'probe' })])
      expect((await closeOf(fixture, frame)).code).toBe(1_008)
    expect(await fixture.ok('GET', '/mailer/workers')).toEqual([])
  })

  it('D12c: waits 10 s for the register frame', async () => {
    const fixture = await open()
    const worker = await fixture.connect('w-1')
    await fixture.time.advance(9_000)
    expect(worker.socket.readyState).toBe(worker.socket.OPEN)
    await fixture.time.advance(2_100)
    expect((await worker.closed).code).toBe(1_008)
  })

  it('D12e: closes with 1009 for a frame above 1 MiB', async () => {
    expect(
      (await closeOf(await open(), JSON.stringify({ type: 'ping', id: 'x'.repeat(1_048_577) }), { registered: true }))
        .code,
    ).toBe(1_009)
  })

  it('D12f, D61c: closes with 1008 for a type that is not installed', async () => {
    expect((await (await (await open()).connect('w-1', { type: 'nowhere' })).closed).code).toBe(1_008)
  })

  it('D12h: pings every 20 s and closes the connection after two missed pongs', async () => {
    const fixture = await open()
    const deaf = await fixture.connect('w-1', { autoPong: false })
    deaf.register()
    await deaf.received()
    let pings = 0
    deaf.socket.on('ping', () => (pings += 1))
    for (const expected of [1, 2]) {
      await fixture.time.advance(20_000)
      await eventually(() => pings === expected)
      expect(deaf.socket.readyState).toBe(deaf.socket.OPEN)
    }
    await fixture.time.advance(21_000)
    expect((await deaf.closed).code).toBe(1_006)
  })

  it('D11: keeps the newest connection of an id', async () => {
    const fixture = await open()
    const [older, newer] = [await fixture.worker('w-1'), await fixture.worker('w-1')]
    expect(await older.closed).toEqual({ code: 1_008, reason: 'replaced by a newer connection' })
    await newer.received()
    expect((await fixture.record('w-1')).connected).toBe(true)
  })

  it('frame/ping, frame/ping-reply: replies to a ping with its id', async () => {
    const worker = await (await open()).worker('w-1')
    worker.send({ type: 'ping', id: 'any text' })
    expect(await worker.next('ping')).toEqual({ type: 'ping', id: 'any text' })
  })

  it('frame/task_assign: never assigns a task by frame', async () => {
    const fixture = await open()
    const worker = await fixture.worker('w-1')
    await fixture.patch('w-1', { enabled: true })
    await fixture.submit({})
    await fixture.reserve('w-1')
    await worker.next('config_changed')
    await worker.received()
    expect(worker.frames).toEqual([])
  })

  it('frame/output, D37a: accepts single outputs and batches, in order', async () => {
    const fixture = await open()
    const worker = await fixture.worker('w-1')
    worker.output({ sent: true }, { ts: 1.5 })
    worker.send({
      type: 'output_batch',
      outputs: [
        { slot_id: 2, ts: 2, payload: { sent: false } },
        { slot_id: 3, ts: 3, payload: { sent: true } },
      ],
    })
    await eventuallyMatches(() => fixture.ok('GET', '/mailer/output/length'), { length: 3 })
    const entries = (await fixture.ok('GET', '/mailer/output/peek')).map(({ slot_id, ts, payload }: Json) => ({
      slot_id,
      ts,
      payload,
    }))
    expect(entries).toEqual([
      { slot_id: 1, ts: 1.5, payload: { sent: true } },
      { slot_id: 2, ts: 2, payload: { sent: false } },
      { slot_id: 3, ts: 3, payload: { sent: true } },
    ])
    expect((await closeOf(fixture, { type: 'output_batch', outputs: [] }, { registered: true })).code).toBe(1_007)
  })

  it('D37c: drops an invalid output without closing the connection', async () => {
    const fixture = await open()
    const worker = await fixture.worker('w-1')
    worker.output({ colour: 'red' })
    worker.output({ sent: true })
    await eventuallyMatches(() => fixture.ok('GET', '/mailer/output/length'), { length: 1 })
    expect(worker.socket.readyState).toBe(worker.socket.OPEN)
    expect(
      fixture.lines.filter(({ level, fields }) => level === 'warn' && JSON.stringify(fields).includes('w-1')),
    ).toHaveLength(1)
  })

  it('D59c: rejects worker ids with a control character or slash, or above 256 characters', async () => {
    const fixture = await open()
    for (const id of ['a%2Fb', 'a%00b', 'x'.repeat(257)]) {
      expect([id, (await (await fixture.connect(id)).closed).code]).toEqual([id, 1_008])
      expect([id, await fixture.status('GET', `/mailer/workers/${id}`)]).toEqual([id, 422])
    }
  })
})
