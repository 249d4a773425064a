import { afterEach, describe, expect, it } from '@jest/globals'
import { Registry } from 'prom-client'
import { Type } from 'typebox'
import { createAuthenticator, type TokenSettings } from '../../../src/master/auth/index.ts'
import { RawJson, route, Http, type Route, type RouteRequest } from '../../../src/master/http/index.ts'
import { FleetError, MAX_BODY_BYTES } from '../../../src/protocol/index.ts'
import { seededRandom, VirtualTime } from '../../../src/runtime/index.ts'
import { recordingLog } from '../../kit/index.ts'

const ADMIN = 'admin-token-of-the-test'
const PEERS = ['first', 'second', 'third', 'fourth'].map((each) => `${each}-worker-token-of-the-test`)
const TOKENS: TokenSettings = { admin: ADMIN, worker: null, workerPeers: PEERS, scopes: new Map() }
const API = '/api/v1/thing'

const servers: { http: Http; time: VirtualTime }[] = []
afterEach(async () => {
  await Promise.all(
    servers.splice(0).map(async ({ http, time }) => {
      const closed = http.close(1_000)
      await time.advance(1_000)
      await closed
    }),
  )
})

async function serve(...routes: readonly Route[]) {
  const time = new VirtualTime()
  const log = recordingLog()
  const { lines } = log
  const authenticator = createAuthenticator(TOKENS, { clock: time })
  const metrics = new Registry()
  const settings = {
    submitRpsPerToken: 0,
    idempotencyTtlSeconds: 60,
    maxBodyBytes: 1_024,
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
    routes,
    authenticator,
    epoch: () => 'the-epoch',
    onUpgrade: (_, socket) => void socket.destroy(),
  })
  const port = await http.listen({ host: '127.0.0.1', port: 0 })
  servers.push({ http, time })
  const call = (path = API, init: RequestInit = {}): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: `Bearer ${ADMIN}` }, ...init })
  return { time, lines, authenticator, metrics, http, call }
}

type Handle = Route['handle']
const thing = (handle: Handle, more: Partial<Route> = {}): Route =>
  route({ method: 'GET', path: API, access: 'admin', needs: 'fleet', summary: 'A thing.', handle, ...more })
/** A handler that waits until the test calls `release`. `entered` resolves when `count` requests wait in it. */
function held(count = 1): { handle: Handle; entered: Promise<RouteRequest>; release: () => void } {
  let enter: (request: RouteRequest) => void = () => {}
  let release = (): void => {}
  const entered = new Promise<RouteRequest>((resolve) => void (enter = resolve))
  const released = new Promise<void>((resolve) => void (release = resolve))
  let inside = 0
  return {
    entered,
    release: () => release(),
    handle: async (request) => {
      inside += 1
      if (inside === count) enter(request)
      await released
      return { body: { done: true } }
    },
  }
}

describe('responses', () => {
  it('contain the request id and the epoch, and are not cached (D47, D59)', async () => {
    const { call } = await serve(
      thing(() => ({ body: { a: 1 } })),
      thing(() => ({ body: {} }), { path: '/open', access: 'none' }),
    )
    const [one, other] = [await call(), await call('/open')]
    expect(await one.json()).toEqual({ a: 1 })
    expect(one.headers.get('muster-epoch')).toBe('the-epoch')
    expect(other.headers.get('muster-epoch')).toBeNull()
    expect(one.headers.get('cache-control')).toBe('no-store')
    expect(one.headers.get('muster-request-id')).not.toBe(other.headers.get('muster-request-id'))
  })

  it('can be stored JSON sent unchanged, text with its own content type, or empty', async () => {
    const { call } = await serve(
      thing(() => ({ body: new RawJson('{"a":1.0}') })),
      thing(() => ({ headers: { 'content-type': 'text/plain' }, body: 'plain' }), { path: `${API}/text` }),
      thing(() => ({ status: 304, headers: { etag: '"e.1"' } }), { path: `${API}/none` }),
    )
    expect(await (await call()).text()).toBe('{"a":1.0}')
    expect(await (await call(`${API}/text`)).text()).toBe('plain')
    const none = await call(`${API}/none`)
    expect([none.status, none.headers.get('etag'), await none.text()]).toEqual([304, '"e.1"', ''])
  })

  it('come from the route with a literal segment, whatever the order of the table', async () => {
    const { call } = await serve(
      thing(({ params }) => ({ body: params['name'] }), { path: `${API}/{name}` }),
      thing(() => ({ body: 'literal' }), { path: `${API}/batch` }),
    )
    expect(await (await call(`${API}/batch`)).json()).toBe('literal')
    expect(await (await call(`${API}/other%2Fone`)).json()).toBe('other/one')
  })

  it('come from the route with a parameter where the literal route does not allow the method (D29)', async () => {
    const { call } = await serve(
      thing(({ params }) => ({ body: params['name'] }), { path: `${API}/{name}` }),
      thing(() => ({ body: 'literal' }), { method: 'POST', path: `${API}/batch` }),
    )
    expect(await (await call(`${API}/batch`)).json()).toBe('batch')
    expect(await (await call(`${API}/batch`, { method: 'POST' })).json()).toBe('literal')
    const refused = await call(`${API}/batch`, { method: 'DELETE' })
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'POST, GET, HEAD'])
  })

  it('stream with back-pressure, and end when the handler ends', async () => {
    const { call } = await serve(
      thing(
        () => ({
          headers: { 'content-type': 'text/event-stream' },
          body: {
            pipe: async (write: (chunk: string) => boolean, _: AbortSignal, drained: () => Promise<void>) => {
              for (let part = 0; part < 100; part += 1) if (!write('x'.repeat(100_000))) await drained()
            },
          },
        }),
        { long: true },
      ),
    )
    expect((await (await call()).text()).length).toBe(10_000_000)
  })

  it('are cut off when a stream fails', async () => {
    const { call, lines } = await serve(
      thing(
        () => ({
          body: {
            pipe: async (write: (chunk: string) => boolean) => {
              write('begun')
              throw new Error('the store became unavailable')
            },
          },
        }),
        { long: true },
      ),
    )
    await expect(call().then((response) => response.text())).rejects.toThrow()
    expect(lines).toContainEqual(expect.objectContaining({ level: 'error', message: 'a response was cut off' }))
  })
})

describe('errors', () => {
  it('are rendered from the table of errors, with the headers that the client needs', async () => {
    const { call, metrics } = await serve(
      thing(() => {
        throw new FleetError('RATE_LIMITED', 'slowly', { retryAfterSeconds: 7 })
      }),
      thing(() => Promise.reject(new FleetError('STORAGE_UNAVAILABLE', 'the store is unavailable')), {
        path: `${API}/store`,
      }),
      thing(
        () => {
          throw new FleetError('INVALID', [{ path: '/n', message: 'is bad', keyword: 'value', params: {} }])
        },
        { path: `${API}/invalid` },
      ),
    )
    const limited = await call()
    expect([limited.status, limited.headers.get('retry-after'), await limited.json()]).toEqual([
      429,
      '7',
      { detail: 'slowly' },
    ])
    const unavailable = await call(`${API}/store`)
    expect([unavailable.status, unavailable.headers.get('retry-after'), await unavailable.json()]).toEqual([
      503,
      '1',
      { detail: 'the store did not respond; whether the change was made is unknown' },
    ])
    expect(await (await call(`${API}/invalid`)).json()).toEqual({
      detail: [{ path: '/n', message: 'is bad', keyword: 'value', params: {} }],
    })
    expect(await metrics.metrics()).toContain('svc_http_refusals_total{status="503"} 1')
  })

  it.each([
    ['STORAGE_UNAVAILABLE', 'not_sent', 'the store is unavailable; nothing was changed'],
    ['STORAGE_UNAVAILABLE', 'unknown', 'the store did not respond; whether the change was made is unknown'],
    ['STORAGE_NOT_OPEN', 'not_sent', 'the store is unavailable; nothing was changed'],
    ['STORAGE_CORRUPT', 'unknown', 'the store cannot be used; the log of the master says why'],
    ['STORAGE_LOCKED', 'not_sent', 'the store cannot be used; the log of the master says why'],
    ['STORAGE_FULL', 'not_sent', 'canary /var/lib/muster.db'],
  ] as const)(
    'of the store, %s and %s, say whether the change was made, and name no file of the store',
    async (code, outcome, detail) => {
      const { call } = await serve(
        thing(() => Promise.reject(new FleetError(code, 'canary /var/lib/muster.db', { outcome }))),
      )
      const response = await call()
      expect([response.status, response.headers.get('retry-after'), await response.json()]).toEqual([
        503,
        '1',
        { detail },
      ])
    },
  )

  it('inside the master return 503 without the cause, which is logged with the same request id', async () => {
    const { call, lines } = await serve(
      thing(() => {
        throw new TypeError('secret /path/of/ours.ts')
      }),
    )
    const response = await call()
    const id = response.headers.get('muster-request-id')
    expect([response.status, await response.json()]).toEqual([503, { detail: `internal error, request ${id}` }])
    expect(lines).toContainEqual(
      expect.objectContaining({
        level: 'error',
        fields: expect.objectContaining({ request_id: id, error: expect.any(TypeError) }),
      }),
    )
  })
})

describe('bodies', () => {
  it('are validated against their schema, and all faults are reported together (D14)', async () => {
    const { call } = await serve(
      thing(({ body }) => ({ body }), {
        method: 'POST',
        body: Type.Object({ n: Type.Integer() }, { additionalProperties: false }),
      }),
    )
    const post = (text: string): Promise<Response> =>
      call(API, {
        method: 'POST',
        body: text,
        headers: { authorization: `Bearer ${ADMIN}`, 'content-type': 'application/json' },
      })
    expect(await (await post('{"n":1}')).json()).toEqual({ n: 1 })
    const refused = await post('{"n":1.5,"m":2}')
    expect([
      refused.status,
      ((await refused.json()) as { detail: { path: string }[] }).detail.map(({ path }) => path).toSorted(),
    ]).toEqual([422, ['/m', '/n']])
  })
})

describe('requests in progress', () => {
  it('are rejected above 2,000, long requests counted separately, and accepted again afterwards', async () => {
    const { handle, entered, release } = held(2_000)
    const { call } = await serve(
      thing(handle, { access: 'any', needs: null }),
      thing(() => ({ body: 'poll' }), { path: `${API}/poll`, long: true }),
      thing(() => ({ body: 'ok' }), { path: '/healthz', access: 'none' }),
    )
    const open = PEERS.flatMap((token) =>
      Array.from({ length: 500 }, () => call(API, { headers: { authorization: `Bearer ${token}` } })),
    )
    await entered
    const refused = await call()
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
    expect((await call(`${API}/poll`)).status).toBe(200)
    expect((await call('/healthz')).status).toBe(200)
    release()
    expect((await Promise.all(open)).map(({ status }) => status).filter((status) => status !== 200)).toEqual([])
    expect((await call()).status).toBe(200)
  }, 20_000)

  it('with a slightly too large body keep their connection, so that no proxy turns the 413 into a 502', async () => {
    const { call } = await serve(thing(() => ({ body: {} }), { method: 'POST', body: Type.Object({}) }))
    const post = (bytes: number): Promise<Response> =>
      call(API, {
        method: 'POST',
        body: 'x'.repeat(bytes),
        headers: { authorization: `Bearer ${ADMIN}`, 'content-type': 'application/json' },
      })
    const responses = [await post(MAX_BODY_BYTES + 1), await post(8 * MAX_BODY_BYTES)]
    expect(responses.map(({ status, headers }) => [status, headers.get('connection')])).toEqual([
      [413, 'keep-alive'],
      [413, 'close'],
    ])
  })

  it('get 408 and a closed connection after 30 s; long requests have no deadline', async () => {
    const [short, long] = [held(), held()]
    const { call, time } = await serve(thing(short.handle), thing(long.handle, { path: `${API}/long`, long: true }))
    const [late, patient] = [call(), call(`${API}/long`)]
    const [request] = await Promise.all([short.entered, long.entered])
    const { signal } = request
    await time.advance(29_000)
    expect(signal.aborted).toBe(false)
    await time.advance(2_500)
    const response = await late
    expect([response.status, response.headers.get('connection')]).toEqual([408, 'close'])
    expect(signal.aborted).toBe(true)
    long.release()
    expect((await patient).status).toBe(200)
    short.release()
  })

  it('abort the signal of their handler when the client disconnects', async () => {
    const { handle, entered, release } = held()
    const { call } = await serve(thing(handle))
    const abort = new AbortController()
    const gone = call(API, { signal: abort.signal }).catch(() => 'gone')
    const { signal } = await entered
    abort.abort()
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    expect(await gone).toBe('gone')
    release()
  })
})

describe('long requests', () => {
  const stream: Handle = ({ signal }) => ({
    body: {
      pipe: (write: (chunk: string) => boolean) =>
        new Promise<void>((resolve) => {
          write('begun ')
          signal.addEventListener('abort', () => {
            write('ended')
            resolve()
          })
        }),
    },
  })

  it('end when their token is revoked, and not when another token changes (D22)', async () => {
    const { call, authenticator } = await serve(thing(stream, { long: true }))
    const response = await call()
    authenticator.replace({ ...TOKENS, worker: 'worker-token-of-the-test' })
    authenticator.replace({ ...TOKENS, admin: 'admin-token-that-is-new' })
    expect(await response.text()).toBe('begun ended')
    expect((await call()).status).toBe(403)
  })

  it('are not aborted once they are answered: an abort would release what the client receives', async () => {
    let signal = AbortSignal.abort()
    const { call, authenticator } = await serve(
      thing(
        async (request) => {
          signal = request.signal
          // In the same turn of the event loop, after the response was handed over and before it is written.
          void Array.from({ length: 50 }).reduce<Promise<void>>(
            (before, _, i) =>
              before.then(() =>
                i === 49 ? authenticator.replace({ ...TOKENS, admin: 'another-admin-token' }) : undefined,
              ),
            Promise.resolve(),
          )
          return { body: { done: true } }
        },
        { long: true },
      ),
    )
    expect(await (await call()).json()).toEqual({ done: true })
    expect((await call()).status).toBe(403)
    expect(signal.aborted).toBe(false)
  })

  it('end cleanly when the master stops, and requests in progress get their response', async () => {
    const { handle, entered, release } = held()
    const { call, http } = await serve(thing(stream, { long: true }), thing(handle, { path: `${API}/slow` }))
    const [streamed, slow] = [await call(), call(`${API}/slow`)]
    await entered
    const closed = http.close(10_000)
    expect(await streamed.text()).toBe('begun ended')
    release()
    const answered = await slow
    expect([answered.status, answered.headers.get('connection')]).toEqual([200, 'close'])
    await closed
    await expect(call()).rejects.toThrow()
  })

  it('are cut off when they do not end in time', async () => {
    const { handle, entered } = held()
    const { call, http, time } = await serve(thing(handle))
    const stuck = call().catch(() => 'cut off')
    await entered
    const closed = http.close(10_000)
    await time.advance(10_000)
    await closed
    expect(await stuck).toBe('cut off')
  })
})

describe('the route table', () => {
  it('rejects a duplicate route', async () => {
    const row = thing(() => ({}))
    await expect(serve(row, row)).rejects.toThrow(/appears twice/)
  })
})
