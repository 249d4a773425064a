import { once } from 'node:events'
import { connect as connectSocket, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { closeReason } from '../../../src/master/control/connection.ts'
import { outputFrame, stateFrame, statsFrame, RegistryFixture, WORKER_TOKEN } from '../registry/fixture.ts'
import { eventually } from '../../kit/index.ts'

let fixture: RegistryFixture
const sockets: Socket[] = []
beforeEach(async () => {
  fixture = await RegistryFixture.open()
})
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await fixture.close()
})

describe('an invalid frame', () => {
  it.each([
    ['not JSON', '{"type":', 1007, /not JSON/],
    ['not an object', '[1]', 1007, /object/],
    ['null', 'null', 1007, /object/],
    ['without a type', '{}', 1007, /\/type/],
    ['of an unknown type', '{"type":"reboot"}', 1008, /reboot/],
    ["of the master's own type", '{"type":"drain"}', 1008, /drain/],
    ['with an unknown field', JSON.stringify(stateFrame({ mood: 'good' })), 1007, /\/mood/],
    ['with a string for a number', JSON.stringify(stateFrame({ config_gen: '1' })), 1007, /\/config_gen/],
    ['with a state that only the master sets', JSON.stringify(stateFrame({ state: 'DRAINING' })), 1007, /\/state/],
    ['with a field missing', JSON.stringify({ type: 'ping' }), 1007, /\/id/],
    ['with a negative generation', JSON.stringify(stateFrame({ config_gen: -1 })), 1007, /\/config_gen/],
    ['with an empty output batch', '{"type":"output_batch","outputs":[]}', 1007, /\/outputs/],
    [
      'with an invalid output in a batch',
      '{"type":"output_batch","outputs":[{"slot_id":0,"ts":1,"payload":{}},{"slot_id":0,"ts":1,"payload":7}]}',
      1007,
      /\/outputs\/1\/payload/,
    ],
    [
      'with statistics nested 5,000 levels deep',
      '{"type":"stats","slots":1,"cpu_pct":0,"rss_mb":0,"ts":1,' +
        `"metrics":{"a":${'['.repeat(5_000)}${']'.repeat(5_000)}}}`,
      1007,
      /deeper/,
    ],
    ['with an unprintable type name', '{"type":"\\u0000\\u001b[31m\\n"}', 1008, /^[\x20-\x7e]+$/],
  ])('%s closes its connection with a reason (D12, S16)', async (_, text, code, reason) => {
    const [worker, other] = [await fixture.worker('w1'), await fixture.worker('w2')]
    worker.socket.send(text)
    const closed = await worker.closed
    expect(closed.code).toBe(code)
    expect(closed.reason).toMatch(reason)
    expect(closed.reason.length).toBeLessThanOrEqual(123)
    await other.settled()
  })

  it('that is binary closes its connection, whatever its content', async () => {
    const worker = await fixture.worker('w1')
    worker.socket.send(Buffer.from(JSON.stringify(stateFrame())), { binary: true })
    expect(await worker.closed).toMatchObject({ code: 1007, reason: expect.stringContaining('binary') })
  })

  it('above 1 MiB closes its connection with 1009 (D12)', async () => {
    const worker = await fixture.worker('w1')
    worker.socket.send('x'.repeat(1_048_577))
    expect((await worker.closed).code).toBe(1009)
  })

  it('with a __proto__ key changes no prototype and is passed on as data (S7)', async () => {
    const worker = await fixture.worker('w1')
    worker.socket.send('{"type":"output","slot_id":0,"ts":1,"payload":{"__proto__":{"polluted":true}}}')
    await worker.settled()
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
    expect(JSON.stringify(fixture.sink.payloads)).toBe('[{"__proto__":{"polluted":true}}]')
  })

  it('is logged at most once per minute per worker', async () => {
    for (let round = 0; round < 3; round += 1) {
      const worker = await fixture.worker('w1')
      worker.socket.send('{"type":"reboot"}')
      await worker.closed
    }
    expect(
      fixture.log.lines.filter(({ message }) => message === 'disconnected a worker that broke the protocol'),
    ).toHaveLength(1)
  })
})

describe('a broken byte stream', () => {
  /** Opens a control socket without a WebSocket client and sends `bytes`. Returns the close code and reason. */
  async function closedBy(bytes: Buffer): Promise<{ code: number; reason: string }> {
    const socket = connectSocket(fixture.port, '127.0.0.1')
    sockets.push(socket)
    socket.on('error', () => {})
    socket.write(
      'GET /api/v1/automations/mailer/workers/w1/control HTTP/1.1\r\n' +
        'Host: x\r\n' +
        'Connection: Upgrade\r\n' +
        'Upgrade: websocket\r\n' +
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n' +
        'Sec-WebSocket-Version: 13\r\n' +
        `Authorization: Bearer ${WORKER_TOKEN}\r\n` +
        '\r\n',
    )
    await once(socket, 'data')
    const answer = once(socket, 'data') as Promise<[Buffer]>
    socket.write(bytes)
    const [frame] = await answer
    return { code: frame[0] === 0x88 ? frame.readUInt16BE(2) : -1, reason: frame.subarray(4).toString() }
  }
  const MASK_KEY = [0, 0, 0, 0]
  const frame = (first: number, payload: Buffer): Buffer =>
    Buffer.concat([Buffer.from([first, 0x80 | payload.length, ...MASK_KEY]), payload])

  it.each([
    ['an unmasked frame', Buffer.from([0x81, 2, 0x7b, 0x7d]), 1002],
    ['a reserved bit', frame(0xc1, Buffer.from('{}')), 1002],
    ['an unknown opcode', frame(0x83, Buffer.from('{}')), 1002],
    ['a split control frame', frame(0x09, Buffer.from('x')), 1002],
    [
      'a long control frame',
      Buffer.concat([Buffer.from([0x89, 0x80 | 126, 0, 126, ...MASK_KEY]), Buffer.alloc(126)]),
      1002,
    ],
    ['bad UTF-8', frame(0x81, Buffer.from([0xff, 0xfe])), 1007],
    [
      'a length of 100 MiB',
      Buffer.concat([Buffer.from([0x81, 0x80 | 127, 0, 0, 0, 0, 6, 0x40, 0, 0, ...MASK_KEY])]),
      1009,
    ],
    [
      'a frame above 1 MiB in fragments',
      Buffer.concat([
        frame(0x01, Buffer.from(' ')),
        ...Array.from({ length: 10_000 }, () => frame(0x00, Buffer.alloc(110, ' '))),
      ]),
      1009,
    ],
  ])('with %s closes only that connection, with a reason (S16, D74)', async (_, bytes, code) => {
    const other = await fixture.worker('w2')
    const closed = await closedBy(bytes)
    expect(closed).toEqual({ code, reason: expect.stringMatching(/^[\x20-\x7e]{10,123}$/) })
    expect(
      fixture.log.lines.find(({ message }) => message === 'disconnected a worker that broke the protocol')?.fields,
    ).toMatchObject({
      worker_id: 'w1',
      ...closed,
    })
    for (const socket of sockets) socket.destroy()
    await eventually(async () => (await fixture.metric('svc_control_closed_total')) !== undefined)
    expect(await fixture.metric('svc_control_closed_total')).toBe(`svc_control_closed_total{code="${code}"} 1`)
    await other.settled()
  })
})

describe('outputs', () => {
  it('reach the sink in the order sent, one by one and in batches (D37, G10)', async () => {
    const worker = await fixture.worker('w1')
    worker.send(outputFrame({ n: 1 }))
    worker.send({
      type: 'output_batch',
      outputs: [
        { slot_id: 1, ts: 2, payload: { n: 2 } },
        { slot_id: 0, ts: 2, payload: { n: 3 } },
      ],
    })
    worker.send(outputFrame({ n: 4 }))
    await worker.settled()
    expect(fixture.sink.payloads).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }])
    expect(fixture.sink.taken[0]).toEqual({
      type: 'mailer',
      workerId: 'w1',
      outputs: [{ slot_id: 0, ts: 1, payload: { n: 1 } }],
    })
  })

  it('close the connection when the sink throws, and no other connection', async () => {
    const [worker, other] = [await fixture.worker('w1'), await fixture.worker('w2')]
    fixture.sink.accept = () => {
      throw new RangeError('Maximum call stack size exceeded')
    }
    worker.send(outputFrame({}))
    expect((await worker.closed).code).toBe(1007)
    await other.settled()
  })
})

describe('a ping', () => {
  it('gets a response with the same id', async () => {
    const worker = await fixture.worker('w1')
    worker.send({ type: 'ping', id: 'abc' })
    expect(await worker.next()).toEqual({ type: 'ping', id: 'abc' })
  })
})

describe('state and statistics', () => {
  it('keep the last state and every stats frame of a burst, oldest first', async () => {
    const worker = await fixture.worker('w1')
    for (let ts = 1; ts <= 20; ts += 1) {
      worker.send(stateFrame({ state: ts % 2 === 0 ? 'RUNNING' : 'ERROR', last_error: `e${ts}` }))
      worker.send(statsFrame({ ts }))
    }
    await worker.settled()
    expect(await fixture.get('/w1')).toMatchObject({ state: 'RUNNING', last_error: 'e20', current_stats: { ts: 20 } })
    expect((await fixture.get<{ ts: number }[]>('/w1/stats')).map(({ ts }) => ts)).toEqual(
      Array.from({ length: 20 }, (_, index) => index + 1),
    )
  })

  it('keep per_slot when it is sent (D10)', async () => {
    const worker = await fixture.worker('w1')
    const per_slot = [{ slot_id: 3, age_seconds: 9, counters: { sent: 2 } }]
    worker.send(statsFrame({ per_slot }))
    await worker.settled()
    expect(await fixture.get('/w1/stats')).toMatchObject([{ per_slot }])
  })

  it('update last_seen, like any other frame', async () => {
    const worker = await fixture.worker('w1')
    await fixture.time.advance(7_000)
    await worker.settled()
    expect(await fixture.get('/w1')).toMatchObject({ last_seen: fixture.time.wallMs() / 1_000 })
  })

  it('truncate a long error text', async () => {
    const worker = await fixture.worker('w1')
    worker.send(stateFrame({ state: 'ERROR', last_error: 'x'.repeat(100_000) }))
    await worker.settled()
    expect(String((await fixture.get('/w1'))['last_error'])).toHaveLength(4_096)
  })

  it('publish events only for changes (D31, D51)', async () => {
    const worker = await fixture.worker('w1')
    for (const frame of [
      stateFrame(),
      stateFrame({ ts: 2 }),
      stateFrame({ state: 'ERROR', last_error: 'oh' }),
      stateFrame({ state: 'ERROR', last_error: 'oh', config_gen: 1 }),
    ]) {
      worker.send(frame)
      await worker.settled()
    }
    const events = (await fixture.events()).map(({ name, data }) => [
      name,
      data['state'] ?? data['applied_config_gen'] ?? data['connected'],
    ])
    expect(events).toEqual([
      ['worker.registered', 'IDLE'],
      ['worker.connected', true],
      ['worker.state', 'RUNNING'],
      ['worker.config_applied', 0],
      ['worker.state', 'ERROR'],
      ['worker.config_applied', 1],
    ])
  })
})

describe('a close reason', () => {
  it('is printable and at most 123 bytes (S16)', () => {
    expect(closeReason('caf\u00e9\n\u{1f600}')).toBe('caf????')
    expect(closeReason('\u00e9'.repeat(500))).toHaveLength(123)
  })
})
