/**
 * Deliberately slow clients against a listening server, with short time limits and the real clock: the timeouts of
 * Node for incoming bytes cannot use virtual time.
 */
import { afterEach, describe, expect, it } from '@jest/globals'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Registry } from 'prom-client'
import { createAuthenticator } from '../../../src/master/auth/index.ts'
import { route, Http } from '../../../src/master/http/index.ts'
import type { StreamBody } from '../../../src/master/http/route.ts'
import type { ServerLimits } from '../../../src/master/http/server.ts'
import { AnyObject } from '../../../src/protocol/index.ts'
import { seededRandom, systemTime, VirtualTime, type Time } from '../../../src/runtime/index.ts'
import { SLACK, recordingLog } from '../../kit/index.ts'
import { head, TOKENS } from '../../kit/running-master.ts'

const SHORT = { headersWithinMs: 300, requestWithinMs: 600, lookEveryMs: 50 }
const MAX_BODY_BYTES = 1_048_576
const POST = (length: number): string =>
  head('POST', '/api/v1/thing', ['Content-Type: application/json', `Content-Length: ${length}`])
const GET = head('GET', '/api/v1/large')

/** Lets the stream below write its second line. */
let resume = (): void => {}
const stream: StreamBody['pipe'] = async (write, signal) => {
  write('first\n')
  await new Promise<void>((resolve) => {
    resume = resolve
    signal.addEventListener('abort', () => resolve())
  })
  write('second\n')
}

const servers: Http[] = []
const clients: Client[] = []
afterEach(async () => {
  for (const client of clients.splice(0)) client.socket.destroy()
  await Promise.all(servers.splice(0).map((http) => http.close(0)))
})

async function serve(time: Time = systemTime, limits: Partial<ServerLimits> = SHORT) {
  const metrics = new Registry()
  const log = recordingLog()
  const settings = {
    submitRpsPerToken: 0,
    idempotencyTtlSeconds: 60,
    maxBodyBytes: MAX_BODY_BYTES,
    maxLostLeases: 10,
    maxQueueLength: 10,
    maxSockets: 1_000,
  }
  const http = new Http({
    clock: time,
    timers: time,
    random: seededRandom(1),
    log,
    catalog: new Map(),
    settings,
    metrics,
    epoch: () => 'the-epoch',
    limits,
    routes: [
      route({
        method: 'POST',
        path: '/api/v1/thing',
        access: 'admin',
        needs: 'fleet',
        summary: 'A thing.',
        body: AnyObject,
        handle: () => ({ body: { done: true } }),
      }),
      route({
        method: 'GET',
        path: '/api/v1/large',
        access: 'admin',
        needs: 'fleet',
        summary: 'Much.',
        handle: () => ({ body: 'x'.repeat(16 * 1_048_576) }),
      }),
      route({
        method: 'GET',
        path: '/api/v1/stream',
        access: 'admin',
        needs: 'fleet',
        summary: 'Bit by bit.',
        long: true,
        handle: () => ({ body: { pipe: stream } satisfies StreamBody }),
      }),
      route({
        method: 'GET',
        path: '/healthz',
        access: 'none',
        needs: null,
        summary: 'Up.',
        handle: () => ({ body: { status: 'ok' } }),
      }),
    ],
    authenticator: createAuthenticator(
      { admin: TOKENS.admin, worker: null, workerPeers: [], scopes: new Map() },
      { clock: time },
    ),
    onUpgrade: (_, socket) => void socket.destroy(),
  })
  const port = await http.listen({ host: '127.0.0.1', port: 0 })
  servers.push(http)
  return { port, http, metrics }
}

interface Client {
  readonly socket: Socket
  readonly text: () => string
  readonly ended: Promise<void>
}

async function open(port: number, bytes: string, read = true): Promise<Client> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {}) // The close event follows.
  let text = ''
  if (read) socket.on('data', (chunk) => (text += chunk.toString('latin1')))
  const ended = new Promise<void>((resolve) => void socket.once('close', () => resolve()))
  await once(socket, 'connect')
  socket.write(bytes)
  const client = { socket, text: () => text, ended }
  clients.push(client)
  return client
}

const healthMs = async (port: number): Promise<number> => {
  const startedMs = systemTime.monotonicMs()
  expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200)
  return systemTime.monotonicMs() - startedMs
}

describe('a slow client', () => {
  it.each([
    ['headers that do not end', 'GET /healthz HTTP/1.1\r\nHost: test\r\nX-Slow:'],
    ['a body that does not end', `${POST(100)}{"a":`],
    [
      'a chunked body that does not end',
      `${head('POST', '/api/v1/thing', ['Content-Type: application/json', 'Transfer-Encoding: chunked'])}5\r\n` +
        '{"a":\r\n',
    ],
    ['a second request that does not end', 'GET /healthz HTTP/1.1\r\nHost: test\r\n\r\nGET /healthz HTTP/1.1\r\nHost'],
  ])('gets 408, is counted, and its connection is closed: %s (S5)', async (_, bytes) => {
    const { port, metrics } = await serve()
    const { text, ended } = await open(port, bytes)
    await ended
    expect(text()).toMatch(/HTTP\/1\.1 408 Request Timeout\r\n[^]*muster-request-id: \S+\r\n/)
    expect(text()).toMatch(/\r\n\r\n\{"detail":"the request took too long to arrive"\}$/)
    expect(await metrics.metrics()).toContain('svc_http_refusals_total{status="408"} 1')
  })

  it('is served when it finishes in time', async () => {
    const { port } = await serve()
    const { socket, text, ended } = await open(port, POST(7).slice(0, 20))
    for (const part of [POST(7).slice(20), '{"a"', ':1}']) {
      await systemTime.sleep(50)
      socket.write(part)
    }
    await ended
    expect(text()).toMatch(/^HTTP\/1\.1 200 /)
  })

  it('that does not read its response is cut off at the deadline of the request (S5)', async () => {
    const time = new VirtualTime()
    const { port, metrics } = await serve(time)
    const { socket, ended } = await open(port, GET, false)
    await once(socket, 'readable') // The response has begun.
    await time.advance(32_000)
    socket.resume()
    await ended
    expect(socket.bytesRead).toBeLessThan(16 * 1_048_576)
    expect(await metrics.metrics()).not.toContain('status="408"') // The response had begun, so there is no 408.
  })
})

describe('the deadline of headers', () => {
  it('is separate: it closes a connection long before the deadline of a whole request', async () => {
    const { port } = await serve(systemTime, { headersWithinMs: 200, requestWithinMs: 120_000, lookEveryMs: 50 })
    const { text, ended } = await open(port, 'GET /healthz HTTP/1.1\r\nHost: test\r\nX-Slow:')
    await ended
    expect(text()).toMatch(/^HTTP\/1\.1 408 /)
  })
})

describe('the connection limit', () => {
  it('drops further connections, counts them, and accepts new ones when one ends', async () => {
    const { port, metrics } = await serve(systemTime, { connections: 2 })
    const [first] = [await open(port, ''), await open(port, '')]
    const third = await open(port, head('GET', '/healthz'))
    await third.ended
    expect(third.text()).toBe('')
    expect(await metrics.metrics()).toContain('svc_http_shed_total{reason="connections"} 1')
    first?.socket.destroy()
    await first?.ended
    const attempts = async (): Promise<string> => {
      const client = await open(port, head('GET', '/healthz'))
      await client.ended
      return client.text() === '' ? attempts() : client.text() // The server may notice it a moment later.
    }
    expect(await attempts()).toMatch(/^HTTP\/1\.1 200 /)
  })
})

describe('bytes after a request that are not HTTP', () => {
  it('close the connection without a 400 in the middle of a response that has begun (S8)', async () => {
    const { port } = await serve()
    const { socket, text, ended } = await open(
      port,
      GET.replace('large', 'stream').replace('Connection: close\r\n', ''),
    )
    while (!text().includes('first')) await once(socket, 'data')
    socket.write('no HTTP at all\r\n\r\n')
    await ended
    resume()
    expect(text().match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200'])
  })

  it('close the connection without a 400 in place of a response that has not begun (S8)', async () => {
    const { port } = await serve()
    const { text, ended } = await open(port, `${GET.replace('Connection: close\r\n', '')}no HTTP at all\r\n\r\n`)
    await ended
    expect(text()).toBe('')
  })
})

describe('1,000 slow clients', () => {
  it('use little memory, delay no other client, and are all disconnected (S5)', async () => {
    const { port } = await serve()
    const before = process.memoryUsage().rss
    const slow: Client[] = []
    for (let each = 0; each < 1_000; each += 1)
      slow.push(
        await open(
          port,
          each % 2 === 0
            ? 'GET /healthz HTTP/1.1\r\nHost: test\r\nX-Slow:'
            : `${POST(MAX_BODY_BYTES)}{"a":"${'x'.repeat(1_000)}`,
        ),
      )
    const waits: number[] = []
    for (let each = 0; each < 50; each += 1) waits.push(await healthMs(port))
    expect(Math.max(...waits)).toBeLessThan(1_000 * SLACK)
    expect(process.memoryUsage().rss - before).toBeLessThan(128 * 1_048_576)
    await Promise.all(slow.map(({ ended }) => ended))
    expect(slow.filter(({ text }) => !text().startsWith('HTTP/1.1 408 '))).toEqual([])
  }, 20_000)
})
