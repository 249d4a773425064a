import { afterEach, describe, expect, it } from '@jest/globals'
import type { RequestListener } from 'node:http'
import { defineHttpRequest } from '../../src/automations/http-request.ts'
import { httpRequest } from '../../src/automations/index.ts'
import { runTask, TestServer } from './fixtures.ts'

const servers: TestServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop()
})

async function serving(answer: RequestListener): Promise<TestServer> {
  const server = await new TestServer(answer).start()
  servers.push(server)
  return server
}

const allow = (...allowed: TestServer[]) => ({
  enabled: true,
  allow_cidrs: ['127.0.0.0/8'],
  allow_ports: allowed.map(({ port }) => port),
})
const ok: RequestListener = (_request, response) => response.setHeader('content-type', 'text/plain').end('héllo')
const status =
  (code: number, headers: Record<string, string> = {}): RequestListener =>
  (_request, response) =>
    response.writeHead(code, headers).end('body-secret')

describe('http-request', () => {
  it('emits the response of the server', async () => {
    const server = await serving(ok)
    const { attempt, outputs } = await runTask(httpRequest, allow(server), { url: `${server.url}/path?key=secret` })
    expect(attempt).toMatchObject({ outcome: 'acked' })
    expect(outputs).toEqual([
      {
        task_id: 'task-1',
        attempt: 0,
        status: 200,
        url: `${server.url}/path`,
        address: '127.0.0.1',
        content_type: 'text/plain',
        body: 'héllo',
        body_encoding: 'utf8',
        truncated: false,
        bytes: 6,
        total_ms: expect.any(Number),
      },
    ])
    expect(server.requests[0]).toMatchObject({
      method: 'GET',
      url: '/path?key=secret',
      headers: { 'user-agent': 'muster' },
    })
  })

  it('sends method, headers, body and, because delivery is at least once, an idempotency key', async () => {
    const server = await serving(ok)
    await runTask(
      httpRequest,
      allow(server),
      { url: server.url, method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"a":"ü"}' },
      'täsk',
    )
    expect(server.requests[0]).toMatchObject({
      method: 'POST',
      body: '{"a":"ü"}',
      headers: { 'content-type': 'application/json', 'content-length': '10', 'idempotency-key': 't%C3%A4sk' },
    })
    await runTask(httpRequest, allow(server), { url: server.url, method: 'PUT', headers: { 'idempotency-key': 'own' } })
    expect(server.requests[1]?.headers['idempotency-key']).toBe('own')
    await runTask(httpRequest, allow(server), { url: server.url })
    expect(server.requests[2]?.headers['idempotency-key']).toBeUndefined()
  })

  it.each([408, 425, 429, 500, 503])('retries after %i', async (code) => {
    const server = await serving(status(code))
    const { attempt, outputs } = await runTask(httpRequest, allow(server), { url: `${server.url}/p?q=query-secret` })
    expect(attempt).toMatchObject({
      outcome: 'scheduled',
      error: `GET ${server.url}/p returned ${code}`,
      retryInSeconds: null,
    })
    expect(outputs).toEqual([])
  })

  it('obeys a Retry-After of 1 to 300 seconds, and ignores others', async () => {
    const after = async (value: string) => {
      const server = await serving(status(503, { 'retry-after': value }))
      return (await runTask(httpRequest, allow(server), { url: server.url })).attempt
    }
    expect(await after('7')).toMatchObject({ outcome: 'scheduled', retryInSeconds: 7 })
    expect(await after('301')).toMatchObject({ outcome: 'scheduled', retryInSeconds: null })
    expect(await after('0')).toMatchObject({ outcome: 'scheduled', retryInSeconds: null })
    expect(await after('Wed, 21 Oct 2026 07:28:00 GMT')).toMatchObject({ outcome: 'scheduled', retryInSeconds: null })
  })

  it.each([301, 400, 401, 404, 410])('fails permanently after %i', async (code) => {
    const server = await serving(status(code))
    expect((await runTask(httpRequest, allow(server), { url: server.url })).attempt).toMatchObject({ outcome: 'dead' })
  })

  it('uses the expected status of the task', async () => {
    const server = await serving(status(404))
    expect(
      (await runTask(httpRequest, allow(server), { url: server.url, expect_status: [404] })).attempt,
    ).toMatchObject({ outcome: 'acked' })
    const fine = await serving(ok)
    expect((await runTask(httpRequest, allow(fine), { url: fine.url, expect_status: [404] })).attempt).toMatchObject({
      outcome: 'dead',
    })
  })

  it('fails permanently for a blocked destination, naming the setting that allows it', async () => {
    const server = await serving(ok)
    const { attempt } = await runTask(httpRequest, { enabled: true, allow_ports: [server.port] }, { url: server.url })
    expect(attempt).toMatchObject({
      outcome: 'dead',
      error: '127.0.0.1 is not a public address and not in allow_cidrs',
    })
    expect(server.requests).toHaveLength(0)
    const named = await runTask(
      httpRequest,
      { enabled: true, allow_ports: [server.port] },
      { url: `http://localhost:${server.port}/` },
    )
    expect(named.attempt).toMatchObject({
      outcome: 'dead',
      error: expect.stringMatching(/localhost \((127\.0\.0\.1|::1)\) is not a public address/),
    })
    expect(server.requests).toHaveLength(0)
  })

  it.each(['not a url', 'http://', 'javascript:alert(1)', 'http://u:p@127.0.0.1/'])(
    'fails permanently for the URL %j',
    async (url) => {
      expect(
        (await runTask(httpRequest, { enabled: true, allow_cidrs: ['127.0.0.0/8'] }, { url })).attempt,
      ).toMatchObject({ outcome: 'dead' })
    },
  )

  it.each([
    'host',
    'connection',
    'content-length',
    'transfer-encoding',
    'upgrade',
    'te',
    'trailer',
    'keep-alive',
    'expect',
    'proxy-authorization',
  ])('rejects a task that sets the header %s', async (name) => {
    const server = await serving(ok)
    const { attempt } = await runTask(httpRequest, allow(server), { url: server.url, headers: { [name]: 'x' } })
    expect(attempt).toMatchObject({ outcome: 'dead', error: `the header ${name} may not be set by a task` })
    expect(server.requests).toHaveLength(0)
  })

  it('sends the authorization only to authorization_hosts, and not after a redirect to another origin', async () => {
    const other = await serving(ok)
    const server = await serving((request, response) =>
      request.url === '/go' ? response.writeHead(307, { location: `${other.url}/there` }).end() : response.end(),
    )
    const config = { ...allow(server, other), authorization: 'Bearer top-secret', follow_redirects: 2 }
    await runTask(httpRequest, config, { url: server.url })
    await runTask(httpRequest, { ...config, authorization_hosts: [server.url] }, { url: `${server.url}/go` })
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([undefined, 'Bearer top-secret'])
    expect(other.requests.map(({ url, headers }) => [url, headers.authorization])).toEqual([['/there', undefined]])
  })

  it('sends the authorization to no other port or scheme of the host, and names the entry that allows it', async () => {
    const refusing: RequestListener = (_request, response) => response.writeHead(401).end()
    const [server, other] = [await serving(refusing), await serving(refusing)]
    const config = { ...allow(server, other), authorization: 'Bearer top-secret' }
    for (const entry of ['127.0.0.1', other.url, `https://127.0.0.1:${server.port}`]) {
      const { attempt } = await runTask(httpRequest, { ...config, authorization_hosts: [entry] }, { url: server.url })
      expect(attempt).toMatchObject({
        outcome: 'dead',
        error:
          `GET ${server.url}/ returned 401; the authorization was not sent: ` +
          `add ${server.url} to authorization_hosts, where scheme and port count`,
      })
    }
    const { attempt } = await runTask(
      httpRequest,
      { ...config, authorization_hosts: [server.url] },
      { url: server.url },
    )
    expect(attempt).toMatchObject({ error: `GET ${server.url}/ returned 401` })
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([
      undefined,
      undefined,
      undefined,
      'Bearer top-secret',
    ])
  })

  it("connects to no host and no private range beyond those of the worker's environment (D90)", async () => {
    const server = await serving(ok)
    const limited = defineHttpRequest({ SVC_ALLOW_CIDRS: '10.0.0.0/8' })
    const { attempt } = await runTask(limited, allow(server), { url: server.url })
    expect(attempt).toMatchObject({
      outcome: 'dead',
      error: expect.stringContaining('not in SVC_ALLOW_CIDRS of this worker'),
    })
    expect(
      (await runTask(defineHttpRequest({ SVC_ALLOW_HOSTS: server.url }), allow(server), { url: server.url })).attempt,
    ).toMatchObject({ outcome: 'acked' })
    expect(server.requests).toHaveLength(1)
  })

  it("drops a task's own authorization when a redirect changes the origin", async () => {
    const other = await serving(ok)
    const server = await serving(status(302, { location: `${other.url}/` }))
    await runTask(
      httpRequest,
      { ...allow(server, other), follow_redirects: 1 },
      { url: server.url, headers: { authorization: 'mine', 'x-plain': 'stays' } },
    )
    expect(other.requests[0]?.headers).toMatchObject({ 'x-plain': 'stays' })
    expect(other.requests[0]?.headers.authorization).toBeUndefined()
  })

  it('checks and counts each redirect', async () => {
    const loop = await serving((_request, response) => response.writeHead(302, { location: '/again' }).end())
    expect(
      (await runTask(httpRequest, { ...allow(loop), follow_redirects: 3 }, { url: loop.url })).attempt,
    ).toMatchObject({ outcome: 'dead', error: expect.stringContaining('more than 3 times') })
    expect(loop.requests).toHaveLength(4)
    const inside = await serving(status(302, { location: 'http://169.254.169.254/latest/meta-data' }))
    expect(
      (
        await runTask(
          httpRequest,
          { ...allow(inside), allow_ports: [80, inside.port], follow_redirects: 3 },
          { url: inside.url },
        )
      ).attempt,
    ).toMatchObject({ outcome: 'dead', error: '169.254.169.254 is not a public address and not in allow_cidrs' })
  })

  it('changes POST to GET without a body after a 303', async () => {
    const server = await serving((request, response) =>
      request.url === '/' ? response.writeHead(303, { location: '/done' }).end() : response.end('ok'),
    )
    await runTask(
      httpRequest,
      { ...allow(server), follow_redirects: 1 },
      { url: `${server.url}/`, method: 'POST', body: 'x', headers: { 'content-type': 'text/plain' } },
    )
    expect(server.requests[1]).toMatchObject({ method: 'GET', url: '/done', body: '' })
    expect(server.requests[1]?.headers['content-type']).toBeUndefined()
  })

  it('truncates a long response, and encodes it as base64 if it is not UTF-8', async () => {
    const server = await serving((request, response) =>
      response.end(request.url === '/binary' ? Buffer.from([0xff, 0xfe, 0]) : 'ä'.repeat(50_000)),
    )
    const long = await runTask(httpRequest, { ...allow(server), max_response_bytes: 101 }, { url: server.url })
    expect(long.outputs[0]).toMatchObject({ truncated: true, bytes: 101, body: 'ä'.repeat(50), body_encoding: 'utf8' })
    const binary = await runTask(httpRequest, allow(server), { url: `${server.url}/binary` })
    expect(binary.outputs[0]).toMatchObject({ truncated: false, bytes: 3, body: '//4A', body_encoding: 'base64' })
  })

  it('retries after a timeout and after a broken connection', async () => {
    const silent = await serving(() => {})
    const late = await runTask(
      httpRequest,
      { ...allow(silent), timeout_seconds: 0.1 },
      { url: silent.url, timeout_seconds: 300 },
    )
    expect(late.attempt).toMatchObject({
      outcome: 'scheduled',
      error: `GET ${silent.url}/ had no complete response within 0.1 s`,
      retryInSeconds: null,
    })
    const breaking = await serving((_request, response) =>
      response.writeHead(200, { 'content-length': '10' }).write('half', () => response.destroy()),
    )
    expect((await runTask(httpRequest, allow(breaking), { url: breaking.url })).attempt).toMatchObject({
      outcome: 'scheduled',
      error: `${breaking.url}/: reset (ECONNRESET)`,
      retryInSeconds: null,
    })
    const { url } = breaking
    await servers.pop()?.stop()
    expect(
      (
        await runTask(
          httpRequest,
          { enabled: true, allow_cidrs: ['127.0.0.0/8'], allow_ports: [Number(new URL(url).port)] },
          { url },
        )
      ).attempt,
    ).toMatchObject({ outcome: 'scheduled', error: `${url}/: refused (ECONNREFUSED)`, retryInSeconds: null })
  })
})
