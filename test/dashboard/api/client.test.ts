import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from '@jest/globals'
import { loadInstalled } from '../../../src/dashboard/api/automations.ts'
import { addressOf, createApi, type Api } from '../../../src/dashboard/api/client.ts'
import { checkText, checkToken, isTokenText, roleText } from '../../../src/dashboard/api/me.ts'
import { RefusalLimiter, VirtualTime } from '../../../src/runtime/index.ts'
import { ServerClock } from '../../../src/dashboard/api/server-clock.ts'

const time = new VirtualTime()
const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

interface Asked {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** Starts a server with one response per path. It records all requests. */
async function served(
  responses: Record<string, { status?: number; body: unknown; headers?: Record<string, string> }>,
): Promise<{ api: Api; asked: Asked[]; refused: () => number; close: () => Promise<void> }> {
  const asked: Asked[] = []
  let refused = 0
  const server = createServer((request: IncomingMessage, response: ServerResponse) => void answer(request, response))
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    asked.push({
      method: request.method ?? '',
      url: request.url ?? '',
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
    })
    const {
      status = 200,
      body,
      headers = {},
    } = responses[request.url ?? ''] ?? { status: 404, body: { detail: 'this path does not exist' } }
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body))
  }
  servers.push(server.listen(0, '127.0.0.1'))
  await once(server, 'listening')
  const base = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/fleet/api/v1/`)
  const api = createApi({
    base,
    token: 'secret',
    clock: new ServerClock(() => 0),
    localMs: () => 0,
    refusals: new RefusalLimiter({ clock: time, timers: time, random: { unit: () => 0 } }),
    onUnauthorized: () => refused++,
  })
  const close = async (): Promise<void> => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
  return { api, asked, refused: () => refused, close }
}

describe('a read that is repeated', () => {
  it('names the tag of the last response, and returns its body after a 304 with the new epoch (D154)', async () => {
    const responses: Parameters<typeof served>[0] = {
      '/fleet/api/v1/x': { body: { ok: 1 }, headers: { 'muster-epoch': 'e', etag: 'W/"one"' } },
    }
    const { api, asked } = await served(responses)
    const first = await api.get(['x'])
    responses['/fleet/api/v1/x'] = { status: 304, body: '', headers: { 'muster-epoch': 'f', etag: 'W/"one"' } }
    const second = await api.get(['x'])
    expect(asked.map(({ headers }) => headers['if-none-match'])).toEqual([undefined, 'W/"one"'])
    expect(second).toEqual({ body: { ok: 1 }, epoch: 'f' })
    expect(second.body).toBe(first.body)
    responses['/fleet/api/v1/x'] = { body: { ok: 2 }, headers: { etag: 'W/"two"' } }
    expect((await api.get(['x'])).body).toEqual({ ok: 2 })
    await api.get(['x'])
    expect(asked.at(-1)?.headers['if-none-match']).toBe('W/"two"')
  })

  it('names no tag after a response without one, of another address, of a write, and after 16 others', async () => {
    const tagged = { body: { ok: 1 }, headers: { etag: 'W/"one"' } }
    const responses: Parameters<typeof served>[0] = { '/fleet/api/v1/x': tagged, '/fleet/api/v1/y': { body: {} } }
    for (let n = 0; n < 16; n += 1) responses[`/fleet/api/v1/z?n=${n}`] = tagged
    const { api, asked } = await served(responses)
    await api.get(['x'])
    await api.get(['y'])
    await api.get(['y'])
    await api.send('POST', ['x'])
    for (let n = 0; n < 16; n += 1) await api.get(['z'], { n })
    await api.get(['x'])
    expect(asked.filter(({ headers }) => headers['if-none-match'] !== undefined)).toEqual([])
  })

  it('reports a 304 that it did not ask for', async () => {
    const { api } = await served({ '/fleet/api/v1/x': { status: 304, body: '' } })
    await expect(api.get(['x'])).rejects.toMatchObject({ status: 304 })
  })
})

describe('an address', () => {
  it('is below the base URL for IDs with any characters', () => {
    const base = new URL('https://host/fleet/api/v1/')
    expect(addressOf(base, ['automations', 'mailer', 'workers', 'a b?#%.&é'], { n: 5 }).href).toBe(
      'https://host/fleet/api/v1/automations/mailer/workers/a%20b%3F%23%25.%26%C3%A9?n=5',
    )
  })
})

describe('a call', () => {
  it('sends the token, and the body as JSON', async () => {
    const { api, asked } = await served({ '/fleet/api/v1/x': { body: { ok: 1 }, headers: { 'muster-epoch': 'e' } } })
    expect(await api.send('PATCH', ['x'], { body: { a: 1 }, headers: { 'if-match': '"e.1"' } })).toEqual({
      body: { ok: 1 },
      epoch: 'e',
    })
    expect(asked[0]).toMatchObject({
      method: 'PATCH',
      body: '{"a":1}',
      headers: { authorization: 'Bearer secret', 'content-type': 'application/json', 'if-match': '"e.1"' },
    })
  })

  it("that is rejected reports the master's message and the request ID", async () => {
    const { api } = await served({
      '/fleet/api/v1/x': {
        status: 503,
        body: { detail: 'the backend is unavailable' },
        headers: { 'retry-after': '2', 'muster-request-id': 'r-1' },
      },
    })
    await expect(api.get(['x'])).rejects.toMatchObject({
      message: 'the backend is unavailable',
      status: 503,
      retryAfterSeconds: 2,
      requestId: 'r-1',
      faults: [],
    })
  })

  it('that is invalid reports its field errors (D14)', async () => {
    const faults = [{ path: '/slots', message: 'must be <= 1024', keyword: 'maximum', params: {} }]
    const { api } = await served({ '/fleet/api/v1/x': { status: 422, body: { detail: faults } } })
    await expect(api.get(['x'])).rejects.toMatchObject({ status: 422, faults, message: '/slots must be <= 1024' })
  })

  it('reports a rejected token after a 401 or 403 only', async () => {
    const { api, refused } = await served({
      '/fleet/api/v1/a': { status: 401, body: { detail: 'a' } },
      '/fleet/api/v1/b': { status: 403, body: { detail: 'b' } },
      '/fleet/api/v1/c': { status: 500, body: { detail: 'c' } },
    })
    for (const path of ['a', 'b', 'c', 'd']) await expect(api.get([path])).rejects.toBeInstanceOf(Error)
    expect(refused()).toBe(2)
  })

  it('reports a response that is not JSON', async () => {
    const { api } = await served({ '/fleet/api/v1/x': { body: '<html>a proxy</html>' } })
    await expect(api.get(['x'])).rejects.toThrow('the response with status 200 is not JSON')
  })

  it('without a response is unknown if it was a write', async () => {
    const { api, close } = await served({})
    await close()
    await expect(api.get(['x'])).rejects.toMatchObject({ status: null, message: 'the master did not respond' })
    await expect(api.send('POST', ['x'])).rejects.toMatchObject({
      status: null,
      message: 'the master did not respond; the request may have been applied',
    })
  })
})

describe('a token at sign-in', () => {
  const check = async (answer: { status?: number; body: unknown }) =>
    checkToken((await served({ '/fleet/api/v1/me': answer })).api)

  it('is accepted if it is an admin or scoped token', async () => {
    const me = { role: 'scoped', automations: ['mailer'] }
    expect(await check({ body: me })).toEqual({ kind: 'accepted', me })
  })

  it('has its own message if it is wrong, a worker token, or could not be checked', async () => {
    const wrong = checkText(await check({ status: 403, body: { detail: 'no' } }))
    const worker = checkText(await check({ body: { role: 'worker', automations: [] } }))
    const broken = checkText(await check({ status: 503, body: { detail: 'the backend is unavailable' } }))
    expect(wrong).toMatch(/does not accept/)
    expect(worker).toMatch(/worker token/)
    expect(broken).toBe('The master could not check the token: the backend is unavailable.')
    const { api, close } = await served({})
    await close()
    expect(checkText(await checkToken(api))).toMatch(/not responding/)
  })

  it('is labelled by its scope', () => {
    expect(roleText({ role: 'admin', automations: ['*'] })).toBe('admin')
    expect(roleText({ role: 'scoped', automations: ['mailer', 'a', 'b'] })).toBe('scoped: mailer, +2')
    expect(roleText({ role: 'scoped', automations: ['*'] })).toBe('scoped: all types')
  })

  it('is printable ASCII without spaces', () => {
    expect(['abc-123_~', 'a b', 'é', ''].map(isTokenText)).toEqual([true, false, false, false])
  })
})

describe('the installed automations', () => {
  const entry = (type: string) => ({
    type,
    kind: 'BatchAutomation',
    config: { type: 'object' },
    queue: { name: type, payload: { a: 1 } },
    pools: { p: { payload: {}, tags: {} } },
  })
  const signal = AbortSignal.timeout(5_000)

  it('are loaded in one list with an admin token', async () => {
    const { api } = await served({
      '/fleet/api/v1/automations': {
        body: [{ type: 'b', class: 'B', kind: 'BatchAutomation', config_schema: { title: 'from the descriptor' } }],
      },
      '/fleet/api/v1/catalog': { body: { b: entry('b'), a: entry('a') } },
    })
    const { automations } = await loadInstalled(api, { role: 'admin', automations: ['*'] }, signal)
    expect(automations).toMatchObject([
      { type: 'a', className: null, payloadSchema: { a: 1 }, outputSchema: null, pools: [{ name: 'p' }] },
      { type: 'b', className: 'B', configSchema: { title: 'from the descriptor' } },
    ])
  })

  it('are loaded type by type with a scoped token, without requesting the whole list (D19)', async () => {
    const { api, asked } = await served({ '/fleet/api/v1/catalog/mailer': { body: entry('mailer') } })
    const installed = await loadInstalled(api, { role: 'scoped', automations: ['mailer', 'gone'] }, signal)
    expect(installed).toMatchObject({ automations: [{ type: 'mailer' }], missing: ['gone'] })
    expect(asked.map(({ url }) => url).toSorted()).toEqual([
      '/fleet/api/v1/catalog/gone',
      '/fleet/api/v1/catalog/mailer',
    ])
  })

  it('come from the overview for a token scoped to all types (D61)', async () => {
    const { api } = await served({
      '/fleet/api/v1/overview': { body: { automations: { mailer: {} } } },
      '/fleet/api/v1/catalog/mailer': { body: entry('mailer') },
    })
    expect(await loadInstalled(api, { role: 'scoped', automations: ['*'] }, signal)).toMatchObject({
      automations: [{ type: 'mailer' }],
    })
    const without = await served({})
    await expect(loadInstalled(without.api, { role: 'scoped', automations: ['*'] }, signal)).rejects.toThrow(
      'sign in with an admin token',
    )
  })
})
