/** Control sockets without a valid token: their limits, their metrics and how they are terminated. */
import { once } from 'node:events'
import { connect as connectSocket, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { MAX_REFUSED_SOCKETS } from '../../../src/protocol/index.ts'
import { registerFrame, RegistryFixture, WORKER_TOKEN } from '../registry/fixture.ts'

const STRANGERS = 1_000
const CONTROL = '/api/v1/automations/mailer/workers/w1/control'
const UPGRADE =
  `GET ${CONTROL} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n'

let fixture: RegistryFixture
const sockets: Socket[] = []
beforeEach(async () => {
  fixture = await RegistryFixture.open()
})
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await fixture.close()
})

interface Stranger {
  readonly socket: Socket
  readonly first: Buffer
  readonly closed: Promise<unknown>
}

/** A client that sends a handshake, reads the response, and ignores close frames. */
async function stranger(headers = ''): Promise<Stranger> {
  const socket = connectSocket({ port: fixture.port, host: '127.0.0.1', allowHalfOpen: true })
  sockets.push(socket)
  socket.on('error', () => {})
  const closed = once(socket, 'close')
  socket.on('end', () => socket.end())
  socket.write(`${UPGRADE}${headers}\r\n`)
  const [first] = (await once(socket, 'data')) as [Buffer]
  return { socket, first, closed }
}

const strangers = (count: number): Promise<Stranger[]> => Promise.all(Array.from({ length: count }, () => stranger()))
const statusOf = ({ first }: Stranger): string => first.toString('latin1').slice(9, 12)

describe('1,000 sockets without a token', () => {
  it('do not keep workers out, and do not count against the handshakes per second (D70)', async () => {
    const statuses = (await strangers(STRANGERS)).map(statusOf)
    expect(statuses.filter((status) => status === '101')).toHaveLength(MAX_REFUSED_SOCKETS)
    expect(statuses.filter((status) => status === '503')).toHaveLength(STRANGERS - MAX_REFUSED_SOCKETS)
    for (let each = 0; each < 20; each += 1) await fixture.worker(`w${each}`)
    expect(await fixture.get<unknown[]>('?connected=true')).toHaveLength(20)
  }, 20_000)

  it('are counted by the reason of the refusal (D70)', async () => {
    await strangers(MAX_REFUSED_SOCKETS + 3)
    const text = await fixture.deps.metrics.metrics()
    expect(text).toContain(`svc_control_refused_total{reason="token"} ${MAX_REFUSED_SOCKETS}`)
    expect(text).toContain('svc_control_refused_total{reason="room"} 3')
    expect(text).toContain('svc_control_sockets 0')
  })
})

describe('a refused socket', () => {
  it('is terminated after a second when its client does not close it, which frees its place (D70)', async () => {
    const refused = await strangers(MAX_REFUSED_SOCKETS)
    expect(statusOf(await stranger())).toBe('503')
    await fixture.time.advance(1_000)
    await Promise.all(refused.map(({ closed }) => closed))
    expect(statusOf(await stranger())).toBe('101')
  })

  it('with an unknown type or an invalid id also takes no place of a worker (D70)', async () => {
    const client = fixture.connect('w1', { type: 'unknown' })
    expect((await client.closed).code).toBe(1008)
    expect(await fixture.deps.metrics.metrics()).toContain('svc_control_refused_total{reason="path"} 1')
  })

  it('does not prevent the master from stopping', async () => {
    const [refused] = await strangers(1)
    const closed = fixture.control.closeAll(1001, 'the master is stopping')
    await fixture.time.advance(3_000)
    await Promise.all([closed, refused?.closed])
  })
})

describe('the metrics of the control channel', () => {
  it('count a close code of a client under its number only when the number is known', async () => {
    for (const [id, code] of [
      ['w1', 1000],
      ['w2', 3999],
      ['w3', 4321],
    ] as const) {
      const client = fixture.connect(id)
      await client.opened
      client.send(registerFrame(id))
      await client.settled()
      client.socket.close(code)
      await client.closed
    }
    const text = await fixture.deps.metrics.metrics()
    expect(text).toContain('svc_control_closed_total{code="1000"} 1')
    expect(text).toContain('svc_control_closed_total{code="other"} 2')
    expect(text).not.toMatch(/code="(3999|4321)"/)
  })
})

describe('the handshake', () => {
  it('accepts no extension, because compression would cost memory for each socket', async () => {
    const { first } = await stranger(
      `Authorization: Bearer ${WORKER_TOKEN}\r\n` +
        'Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n',
    )
    expect(first.toString('latin1')).toMatch(/^HTTP\/1\.1 101 /)
    expect(first.toString('latin1').toLowerCase()).not.toContain('sec-websocket-extensions')
  })
})
