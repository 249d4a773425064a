import { once } from 'node:events'
import { connect as connectSocket, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { FIRST_BUDGET, TICK_MS } from '../../../src/master/control/admission-rate.ts'
import { MAX_EARLY_BYTES } from '../../../src/master/control/limits.ts'
import { readHandshake } from '../../../src/master/control/handshake.ts'
import { HANDSHAKE_WAIT_MS, MAX_UNREGISTERED } from '../../../src/protocol/index.ts'
import { eventually } from '../../kit/index.ts'
import { ADMIN_TOKEN, registerFrame, RegistryFixture, WORKER_TOKEN, type WorkerClient } from '../registry/fixture.ts'

let fixture: RegistryFixture
const sockets: Socket[] = []
beforeEach(async () => {
  fixture = await RegistryFixture.open()
})
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await fixture.close()
})

const CONTROL = '/api/v1/automations/mailer/workers/w1/control'

/** Sends raw text and returns the first bytes of the response. */
async function raw(text: string): Promise<string> {
  const socket = connectSocket(fixture.port, '127.0.0.1')
  sockets.push(socket)
  socket.on('error', () => {})
  socket.write(text)
  const [data] = (await once(socket, 'data')) as [Buffer]
  return data.toString()
}

const upgrade = (path: string, more = ''): string =>
  `GET ${path} HTTP/1.1\r\n` +
  'Host: localhost\r\n' +
  'Connection: Upgrade\r\n' +
  'Upgrade: websocket\r\n' +
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n' +
  `${more}\r\n`
const VERSION = 'Sec-WebSocket-Version: 13\r\n'
const GOOD = `${VERSION}Authorization: Bearer ${WORKER_TOKEN}\r\n`

it('the response to an upgrade names the version, the features and the epoch (D120)', async () => {
  const epoch = await fixture.deps.epoch.read()
  const features = 'stream, result, progress, cancel, epoch, labels, logs, holder, output_task, slot_tasks'
  expect((await raw(upgrade(CONTROL, GOOD))).toLowerCase()).toContain(
    `\r\nmuster-version: 0.2.0\r\nmuster-features: ${features}\r\nmuster-epoch: ${epoch}\r\n`,
  )
})

describe('the token of a control socket', () => {
  it('is read from the header or from the query', async () => {
    for (const client of [
      fixture.connect('w1'),
      fixture.connect('w2', { token: null, query: `?token=${WORKER_TOKEN}` }),
    ]) {
      await client.opened
      client.send(registerFrame(client.socket.url.includes('/w1/') ? 'w1' : 'w2'))
      await client.settled()
    }
    expect(await fixture.get<unknown[]>('?connected=true')).toHaveLength(2)
  })

  it.each([
    ['wrong', { token: 'guess' }],
    ['the admin token', { token: ADMIN_TOKEN }],
    ['missing', { token: null }],
    ['wrong in the query', { token: null, query: '?token=guess' }],
  ])('that is %s is accepted, and then the socket is closed with 4401 (D12)', async (_, options) => {
    const client = fixture.connect('w1', options)
    await client.opened
    expect((await client.closed).code).toBe(4401)
  })

  it('may contain a comma, as in any other request', async () => {
    fixture.validTokens.set('one,token', { role: 'worker', key: 'c', id: 'c' })
    const client = fixture.connect('w1', { token: 'one,token' })
    await client.opened
    client.send(registerFrame('w1'))
    await client.settled()
    expect(await fixture.get('/w1')).toMatchObject({ connected: true })
  })

  it('in the header takes precedence over one in the query', async () => {
    expect((await fixture.connect('w1', { token: 'guess', query: `?token=${WORKER_TOKEN}` }).closed).code).toBe(4401)
  })

  it('is checked before the type, so a client without a token cannot find out which types exist', async () => {
    expect((await fixture.connect('w1', { type: 'unknown', token: 'guess' }).closed).code).toBe(4401)
  })

  it('is removed from the request URL, whatever its path (S15)', () => {
    for (const path of [CONTROL, '/elsewhere']) {
      const request = { url: `${path}?token=${WORKER_TOKEN}`, headers: {}, rawHeaders: [] }
      readHandshake(request as unknown as Parameters<typeof readHandshake>[0])
      expect(request.url).toBe(path)
    }
  })

  it('that is revoked closes its own sockets and no other (D22)', async () => {
    fixture.validTokens.set('next-worker-token', { role: 'worker', key: 'n', id: 'n' })
    const [stays, goes] = [fixture.connect('w1', { token: 'next-worker-token' }), fixture.connect('w2')]
    await Promise.all([stays.opened, goes.opened])
    stays.send(registerFrame('w1'))
    await stays.settled()
    fixture.validTokens.delete(WORKER_TOKEN)
    fixture.control.closeRevoked()
    expect((await goes.closed).code).toBe(4401)
    await stays.settled()
  })
})

describe('the path of a control socket', () => {
  it('with an unknown type is closed with 1008 (D12, D61)', async () => {
    expect((await fixture.connect('w1', { type: 'unknown' }).closed).code).toBe(1008)
  })

  it.each(['a/b', 'tab\there', 'x'.repeat(257)])('with an invalid id is closed with 1008: %j', async (id) => {
    expect((await fixture.connect(id).closed).code).toBe(1008)
  })

  it.each([
    '/api/v1/automations/mailer/workers/w1',
    '/control',
    `${CONTROL}/`,
    '/api/v1/automations/mailer/workers/%zz/control',
  ])('that is not a control path returns 404 before the upgrade: %s (S15)', async (path) => {
    const answer = await raw(upgrade(path, VERSION))
    expect(answer).toMatch(/^HTTP\/1\.1 404 /)
    expect(answer).toContain('{"detail":')
  })

  it('with another WebSocket version returns an error before the upgrade (S15)', async () => {
    expect(await raw(upgrade(CONTROL, 'Sec-WebSocket-Version: 99\r\n'))).toMatch(/^HTTP\/1\.1 (400|426) /)
  })
})

describe('the register frame', () => {
  it('must arrive within 10 s (D12)', async () => {
    const [silent, prompt] = [fixture.connect('w1'), fixture.connect('w2')]
    await Promise.all([silent.opened, prompt.opened])
    prompt.send(registerFrame('w2'))
    await prompt.settled()
    await fixture.time.advance(9_000)
    expect(silent.socket.readyState).toBe(silent.socket.OPEN)
    await fixture.time.advance(2_000)
    expect(await silent.closed).toMatchObject({ code: 1008, reason: expect.stringContaining('register') })
    await prompt.settled()
  })

  it.each(['state', 'stats', 'output', 'ping'])('must arrive before %s frames (D12)', async (type) => {
    const frames: Record<string, object> = {
      state: { state: 'IDLE', config_gen: 0, ts: 1, last_error: null },
      stats: { slots: 1, cpu_pct: 0, rss_mb: 1, ts: 1, metrics: {} },
      output: { slot_id: 0, ts: 1, payload: {} },
      ping: { id: 'x' },
    }
    const client = fixture.connect('w1')
    await client.opened
    client.send({ type, ...frames[type] })
    expect(await client.closed).toMatchObject({ code: 1008, reason: expect.stringContaining('register') })
    expect(fixture.sink.taken).toEqual([])
  })

  it.each([
    ['worker_id', registerFrame('w2')],
    ['automation_type', registerFrame('w1', { type: 'feed' })],
  ])('must name the %s of the path (D12)', async (field, frame) => {
    const client = fixture.connect('w1')
    await client.opened
    client.send(frame)
    expect(await client.closed).toMatchObject({ code: 1008, reason: expect.stringContaining(field) })
  })

  it('of another protocol version closes the connection with 4000', async () => {
    const client = fixture.connect('w1')
    await client.opened
    client.send(registerFrame('w1', { protocol_version: 2 }))
    expect((await client.closed).code).toBe(4000)
    expect((await fixture.call('GET', '/w1')).status).toBe(404)
  })

  it('may be repeated for the same worker, but not for another one (S16)', async () => {
    const client = await fixture.worker('w1')
    client.send(registerFrame('w1', { hardware: { cores: 64, ram_gb: 4, hostname: 'h', kernel: 'k' } }))
    await client.settled()
    expect(await fixture.get('/w1')).toMatchObject({ connected: true, hardware: { cores: 64 } })
    client.send(registerFrame('w2'))
    expect(await client.closed).toMatchObject({ code: 1008, reason: expect.stringContaining('worker_id') })
  })

  it('with a huge hardware record is rejected', async () => {
    const client = fixture.connect('w1')
    await client.opened
    client.send(registerFrame('w1', { hardware: { cores: 1, ram_gb: 4, hostname: 'h'.repeat(20_000), kernel: 'k' } }))
    expect(await client.closed).toMatchObject({ code: 1007, reason: expect.stringContaining('/hardware') })
  })
})

describe('admission', () => {
  const open = (count: number): Promise<WorkerClient[]> =>
    Promise.all(
      Array.from({ length: count }, async (_, index) => {
        const client = fixture.connect(`w${index}`)
        await client.opened
        return client
      }),
    )

  const waiting = async (): Promise<number> =>
    Number((await fixture.metric('svc_control_handshakes_waiting'))?.split(' ')[1])

  const waits = (count: number): Promise<void> =>
    eventually(`${count} handshakes wait`, async () => (await waiting()) === count)

  /** Sends an upgrade that has to wait. */
  async function heldBack(more = ''): Promise<{ socket: Socket; response: Promise<string> }> {
    const before = await waiting()
    const socket = connectSocket({ port: fixture.port, host: '127.0.0.1', allowHalfOpen: true })
    sockets.push(socket)
    socket.on('error', () => {})
    const response = Promise.race([
      once(socket, 'data').then(([data]) => String(data)),
      once(socket, 'close').then(() => 'closed without a response'),
    ])
    socket.write(`${upgrade(CONTROL, GOOD)}${more}`, 'latin1')
    await waits(before + 1)
    return { socket, response }
  }

  it('holds handshakes above the budget of a tick, and admits them with the next (G13)', async () => {
    await open(FIRST_BUDGET)
    const { response } = await heldBack()
    await fixture.time.advance(TICK_MS)
    expect(await response).toMatch(/^HTTP\/1\.1 101 /)
    expect(await waiting()).toBe(0)
  })

  it('holds handshakes while 256 sockets have not registered, and rejects them after 10 s (S15)', async () => {
    for (let opened = 0; opened < MAX_UNREGISTERED; opened += FIRST_BUDGET) {
      fixture.time.jump(TICK_MS)
      await open(Math.min(FIRST_BUDGET, MAX_UNREGISTERED - opened))
    }
    const { response } = await heldBack()
    fixture.time.jump(HANDSHAKE_WAIT_MS - TICK_MS)
    await fixture.time.advance(TICK_MS)
    const text = await response
    expect(text).toMatch(/^HTTP\/1\.1 503 /)
    expect(text.toLowerCase()).toContain('retry-after: 1')
    expect(fixture.log.lines).toContainEqual(
      expect.objectContaining({ level: 'warn', message: expect.stringContaining('waited for admission') }),
    )
  }, 20_000)

  it('rejects sockets above the bound immediately, those that wait included', async () => {
    await fixture.close()
    fixture = await RegistryFixture.open({ maxSockets: FIRST_BUDGET + 1 })
    await open(FIRST_BUDGET)
    const { response } = await heldBack()
    expect(await raw(upgrade(CONTROL, GOOD))).toMatch(/^HTTP\/1\.1 503 /)
    await fixture.time.advance(TICK_MS)
    expect(await response).toMatch(/^HTTP\/1\.1 101 /)
  })

  it('passes on what a client sent while it waited', async () => {
    await open(FIRST_BUDGET)
    const { socket, response } = await heldBack('\x81')
    const register = Buffer.from(JSON.stringify(registerFrame('w1')))
    socket.write(
      Buffer.concat([Buffer.from([0x80 | 126, register.length >> 8, register.length & 255, 0, 0, 0, 0]), register]),
    )
    await new Promise((resolve) => void setTimeout(resolve, 50))
    await fixture.time.advance(TICK_MS)
    expect(await response).toMatch(/^HTTP\/1\.1 101 /)
    await eventually('the worker is registered', async () => (await fixture.call('GET', '/w1')).status === 200)
  })

  it('rejects a client that sends more than 4 KiB while it waits (S15)', async () => {
    await open(FIRST_BUDGET)
    const { socket, response } = await heldBack()
    socket.write(Buffer.alloc(MAX_EARLY_BYTES + 1))
    expect(await response).toMatch(/^HTTP\/1\.1 400 /)
    await waits(0)
  })

  it('does not count what a client sends after its admission', async () => {
    await open(FIRST_BUDGET)
    const client = fixture.connect('w1')
    await waits(1)
    await fixture.time.advance(TICK_MS)
    await client.opened
    client.send(registerFrame('w1', { hardware: { cores: 1, ram_gb: 4, hostname: 'h'.repeat(2_000), kernel: 'k' } }))
    await client.settled()
    for (const payload of ['x'.repeat(MAX_EARLY_BYTES), 'y'])
      client.send({ type: 'output', slot_id: 0, ts: 1, payload: { payload } })
    await client.settled()
    expect(await fixture.get('/w1')).toMatchObject({ connected: true })
  })

  it('forgets a client that disconnects while it waits, by either way', async () => {
    await open(FIRST_BUDGET)
    const [ended, reset] = [await heldBack(), await heldBack()]
    ended.socket.end()
    reset.socket.resetAndDestroy()
    await waits(0)
    expect(await ended.response).toBe('closed without a response')
    expect(await fixture.metric('svc_control_sockets')).toBe(`svc_control_sockets ${FIRST_BUDGET}`)
  })

  it('closes a socket with 4401 whose token was revoked while it waited (D22)', async () => {
    await open(FIRST_BUDGET)
    const client = fixture.connect('w1')
    await waits(1)
    fixture.validTokens.delete(WORKER_TOKEN)
    await fixture.time.advance(TICK_MS)
    expect((await client.closed).code).toBe(4401)
  })

  it('rejects all that wait when the master stops', async () => {
    await open(FIRST_BUDGET)
    const held = [await heldBack(), await heldBack()]
    const closed = fixture.control.closeAll(1001, 'the master is stopping')
    for (const { response } of held) expect(await response).toMatch(/^HTTP\/1\.1 503 /)
    await closed
  })
})

describe('shutdown of the master', () => {
  it('closes all sockets with the given code, rejects new ones, terminates clients that do not respond', async () => {
    const worker = await fixture.worker('w1')
    const deaf = connectSocket(fixture.port, '127.0.0.1')
    sockets.push(deaf)
    deaf.write(upgrade(CONTROL, `${VERSION}Authorization: Bearer ${WORKER_TOKEN}\r\n`))
    await once(deaf, 'data')
    const cut = once(deaf, 'close')
    const closed = fixture.control.closeAll(1001, 'the master is stopping')
    expect(await worker.closed).toEqual({ code: 1001, reason: 'the master is stopping' })
    await fixture.time.advance(3_000)
    await Promise.all([closed, cut])
    expect(await raw(upgrade(CONTROL, VERSION))).toMatch(/^HTTP\/1\.1 503 /)
  })
})
