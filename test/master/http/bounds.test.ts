/**
 * Clients that occupy capacity and never free it: pipelined requests whose responses are never read, and half-sent
 * requests of one token. The server and its sockets are real; only deadlines use virtual time.
 */
import { afterEach, describe, expect, it } from '@jest/globals'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Registry } from 'prom-client'
import { createAuthenticator } from '../../../src/master/auth/index.ts'
import { createDashboard, route, Http, type Route } from '../../../src/master/http/index.ts'
import {
  AnyObject,
  MAX_OPEN_REQUESTS,
  MAX_REQUESTS_IN_WORK,
  MAX_REQUESTS_PER_SOCKET,
} from '../../../src/protocol/index.ts'
import { seededRandom, VirtualTime } from '../../../src/runtime/index.ts'
import { recordingLog } from '../../kit/index.ts'
import { temporaryFolder } from '../../kit/temporary-folder.ts'

const MIB = 1_048_576
const TOKENS = {
  admin: 'admin-token-of-the-test',
  worker: 'worker-token-of-the-test',
  workerPeers: [],
  scopes: new Map([
    ['scoped-one-of-the-test', ['*']],
    ['scoped-two-of-the-test', ['*']],
    ['scoped-three-of-the-test', ['*']],
    ['scoped-four-of-the-test', ['*']],
  ]),
}
const SCOPED = [...TOKENS.scopes.keys()]
const SHARE = MAX_REQUESTS_IN_WORK / 4
/** Node's own deadlines use the real clock. They are long here, because this file tests the deadlines of the server. */
const LIMITS = { headersWithinMs: 120_000, requestWithinMs: 120_000, lookEveryMs: 60_000 }

const servers: { http: Http; time: VirtualTime }[] = []
const sockets: Socket[] = []
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await Promise.all(
    servers.splice(0).map(async ({ http, time }) => {
      const closed = http.close(1_000)
      await time.advance(1_000)
      await closed
    }),
  )
})

const THINGS: readonly Route[] = [
  route({
    method: 'POST',
    path: '/api/v1/thing',
    access: 'any',
    needs: null,
    summary: 'A thing.',
    body: AnyObject,
    handle: () => ({ body: { done: true } }),
  }),
  route({
    method: 'POST',
    path: '/api/v1/poll',
    access: 'any',
    needs: null,
    summary: 'A long poll.',
    body: AnyObject,
    long: true,
    handle: () => ({ body: { done: true } }),
  }),
  route({
    method: 'GET',
    path: '/healthz',
    access: 'none',
    needs: null,
    isProbe: true,
    summary: 'Up.',
    handle: () => ({ body: { status: 'ok' } }),
  }),
]

async function serve(routes: readonly Route[] = THINGS) {
  const time = new VirtualTime()
  const metrics = new Registry()
  const settings = {
    submitRpsPerToken: 0,
    idempotencyTtlSeconds: 60,
    maxBodyBytes: MIB,
    maxLostLeases: 10,
    maxQueueLength: 10,
    maxSockets: 1_000,
  }
  const http = new Http({
    clock: time,
    timers: time,
    random: seededRandom(1),
    log: recordingLog(),
    catalog: new Map(),
    settings,
    metrics,
    limits: LIMITS,
    routes,
    authenticator: createAuthenticator(TOKENS, { clock: time }),
    epoch: () => 'the-epoch',
    onUpgrade: (_, socket) => void socket.destroy(),
  })
  const port = await http.listen({ host: '127.0.0.1', port: 0 })
  servers.push({ http, time })
  const shed = async (reason: string): Promise<number> =>
    Number(
      new RegExp(`^svc_http_shed_total\\{reason="${reason}"\\} (\\d+)$`, 'm').exec(await metrics.metrics())?.[1] ?? 0,
    )
  return { port, time, shed }
}

interface Client {
  readonly socket: Socket
  readonly text: () => string
  readonly closed: Promise<unknown>
}

/** Sends raw bytes. With `reads: false` the client never reads, so that the kernel buffers fill. */
async function send(port: number, bytes: string, { reads = true } = {}): Promise<Client> {
  const socket = connect(port, '127.0.0.1')
  sockets.push(socket)
  let text = ''
  socket.on('error', () => {})
  if (reads) socket.on('data', (chunk) => (text += chunk.toString('latin1')))
  const closed = new Promise((resolve) => void socket.once('close', resolve))
  await once(socket, 'connect')
  await new Promise((resolve) => void socket.write(bytes, resolve))
  return { socket, text: () => text, closed }
}

const get = (path: string, more = ''): string => `GET ${path} HTTP/1.1\r\nHost: test\r\n${more}\r\n`
const halfSent = (token: string, path = '/api/v1/thing', length = 1_000): string =>
  `POST ${path} HTTP/1.1\r\n` +
  'Host: test\r\n' +
  `Authorization: Bearer ${token}\r\n` +
  'Content-Type: application/json\r\n' +
  `Content-Length: ${length}\r\n` +
  '\r\n' +
  '{"a":'
const statuses = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.1 (?<status>\d{3})/g)].map((match) => Number(match.groups?.['status']))
const answered = async (client: Client): Promise<number> => {
  while (statuses(client.text()).length === 0) await once(client.socket, 'data')
  return statuses(client.text())[0] ?? 0
}
const post = async (port: number, token: string, path = '/api/v1/thing'): Promise<number> =>
  (
    await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      body: '{}',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    })
  ).status
const healthz = async (port: number): Promise<number> => (await fetch(`http://127.0.0.1:${port}/healthz`)).status

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** The memory in use, inside and outside of the heap. */
function memory(): number {
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

async function dashboardWith(bytes: number): Promise<readonly Route[]> {
  const folder = temporaryFolder()
  await mkdir(join(folder, 'assets'))
  await writeFile(join(folder, 'index.html'), '<!doctype html>')
  await writeFile(join(folder, 'assets', 'main-Ab3_x9-Z.js'), 'x'.repeat(bytes))
  return (await createDashboard(folder)).routes
}

describe('clients that never read', () => {
  it('use less than 16 MiB with 1,500 pipelined asset requests on each of 10 connections (D71)', async () => {
    const { port } = await serve([...(await dashboardWith(280 * 1_024)), ...THINGS])
    const before = memory()
    for (let each = 0; each < 10; each += 1)
      await send(port, get('/assets/main-Ab3_x9-Z.js').repeat(1_500), { reads: false })
    expect(await healthz(port)).toBe(200)
    expect(memory() - before).toBeLessThan(16 * MIB)
  }, 30_000)

  it('share one copy of an asset in 32 requests on each of 30 connections, and end after 30 s (D71)', async () => {
    const { port, time } = await serve([...(await dashboardWith(8 * MIB)), ...THINGS])
    const before = memory()
    const clients: Client[] = []
    for (let each = 0; each < 30; each += 1)
      clients.push(await send(port, get('/assets/main-Ab3_x9-Z.js').repeat(MAX_REQUESTS_PER_SOCKET), { reads: false }))
    expect(await healthz(port)).toBe(200)
    expect(memory() - before).toBeLessThan(32 * MIB) // 960 copies of 8 MiB would be 7.5 GiB.
    await time.advance(31_000)
    for (const { socket } of clients) socket.resume()
    await Promise.all(clients.map(({ closed }) => closed))
  }, 30_000)
})

describe('one connection', () => {
  it(`may pipeline ${MAX_REQUESTS_PER_SOCKET} requests; one more is refused and closes it (D71)`, async () => {
    const { port, shed } = await serve()
    const good = await send(
      port,
      get('/healthz').repeat(MAX_REQUESTS_PER_SOCKET - 1) + get('/healthz', 'Connection: close\r\n'),
    )
    await good.closed
    expect(statuses(good.text())).toEqual(Array.from({ length: MAX_REQUESTS_PER_SOCKET }, () => 200))
    const greedy = await send(port, get('/healthz').repeat(MAX_REQUESTS_PER_SOCKET + 1))
    await greedy.closed
    expect(statuses(greedy.text())).toEqual([...Array.from({ length: MAX_REQUESTS_PER_SOCKET }, () => 200), 503])
    expect(greedy.text()).toMatch(/requests of this connection have no response yet[^]*$/)
    expect(await shed('connection')).toBe(1)
  })

  it('may send any number of requests one after the other', async () => {
    const { port } = await serve()
    const client = await send(port, get('/healthz'))
    for (let sent = 1; sent < 3 * MAX_REQUESTS_PER_SOCKET; sent += 1) {
      while (statuses(client.text()).length < sent) await once(client.socket, 'data')
      client.socket.write(get('/healthz'))
    }
  })
})

describe('routes without a token', () => {
  it(`have ${MAX_OPEN_REQUESTS} places; probes and requests with a token are still served (D71)`, async () => {
    let release = (): void => {}
    const released = new Promise<void>((resolve) => void (release = resolve))
    const page = route({
      method: 'GET',
      path: '/page',
      access: 'none',
      needs: null,
      summary: 'A page.',
      handle: async () => {
        await released
        return { headers: { 'content-type': 'text/plain' }, body: 'page' }
      },
    })
    const { port, shed } = await serve([...THINGS, page])
    const waiting: Client[] = []
    for (let taken = 0; taken < MAX_OPEN_REQUESTS; taken += 25) waiting.push(await send(port, get('/page').repeat(25)))
    expect([await healthz(port), await post(port, TOKENS.admin)]).toEqual([200, 200])
    const refused = await fetch(`http://127.0.0.1:${port}/page`)
    expect([refused.status, refused.headers.get('retry-after'), await shed('no_token')]).toEqual([503, '1', 1])
    release()
    for (const client of waiting) await answered(client)
    expect((await fetch(`http://127.0.0.1:${port}/page`)).status).toBe(200)
  })
})

describe('half-sent requests', () => {
  it.each(['/api/v1/thing', '/api/v1/poll'])(
    '2,000 of one token leave places for every other token: %s (D71)',
    async (path) => {
      const { port, time, shed } = await serve()
      const [token = '', other = ''] = SCOPED
      const clients = await Promise.all(Array.from({ length: 2_000 }, () => send(port, halfSent(token, path))))
      while ((await shed('token')) < 2_000 - SHARE) await healthz(port)
      expect(await Promise.all([TOKENS.admin, TOKENS.worker, other].map((each) => post(port, each, path)))).toEqual([
        200, 200, 200,
      ])
      expect(await post(port, token, path)).toBe(503)
      await time.advance(7_000) // The body deadline frees the places.
      const refusals = await Promise.all(clients.map(answered))
      await Promise.all(clients.filter((_, index) => refusals[index] === 408).map(({ closed }) => closed))
      expect([
        refusals.filter((status) => status === 503).length,
        refusals.filter((status) => status === 408).length,
      ]).toEqual([2_000 - SHARE, SHARE])
      expect(await post(port, token, path)).toBe(200)
      expect(await shed('slow_body')).toBe(SHARE)
    },
    30_000,
  )

  it('of all scoped tokens together leave a tenth of the places to the admin and the workers (D71)', async () => {
    const { port, shed } = await serve()
    await Promise.all(SCOPED.flatMap((token) => Array.from({ length: SHARE }, () => send(port, halfSent(token)))))
    while ((await shed('in_work')) < MAX_REQUESTS_IN_WORK / 10) await healthz(port)
    expect(await Promise.all([TOKENS.admin, TOKENS.worker].map((each) => post(port, each)))).toEqual([200, 200])
  }, 30_000)
})

describe('a body', () => {
  it('that keeps arriving at 240 bytes per second is read to its end (D71)', async () => {
    const { port, time } = await serve()
    const client = await send(port, halfSent(TOKENS.admin, '/api/v1/thing', 5_010))
    client.socket.write('"')
    for (let each = 0; each < 20; each += 1) {
      await new Promise((resolve) => void client.socket.write('x'.repeat(250), resolve))
      await healthz(port) // The server has read the previous bytes.
      await time.advance(1_000)
    }
    client.socket.write(`${'x'.repeat(2)}"}`)
    expect(await answered(client)).toBe(200)
  })
})
