import { afterEach, describe, expect, it } from '@jest/globals'
import type { RequestListener } from 'node:http'
import { runContinuous } from '../../src/automation/testing/index.ts'
import { httpProbe } from '../../src/automations/index.ts'
import { TestServer } from './fixtures.ts'

interface Target {
  name: string
  url: string
  method: 'GET' | 'HEAD'
  expect_status: number[]
  expect_text: string
}

const servers: TestServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop()
})

async function serving(answer: RequestListener): Promise<TestServer> {
  const server = await new TestServer(answer).start()
  servers.push(server)
  return server
}

const config = (server: TestServer, ...targets: Partial<Target>[]) => ({
  enabled: true,
  allow_cidrs: ['127.0.0.0/8'],
  allow_ports: [server.port, 1],
  interval_seconds: 1,
  timeout_seconds: 0.3,
  targets: targets.map((target, index) => ({ name: `t${index}`, url: `${server.url}/?key=secret`, ...target })),
})

describe('http-probe', () => {
  it('reports for each target whether it responded as expected', async () => {
    const server = await serving((request, response) => {
      if (request.url === '/500') response.writeHead(500)
      if (request.url === '/302') response.writeHead(302, { location: '/' })
      if (request.url !== '/silent') response.end(request.method === 'HEAD' ? undefined : 'all is well')
    })
    const { outputs, metrics } = await runContinuous(httpProbe, {
      forSeconds: 1,
      config: config(
        server,
        {},
        { url: `${server.url}/500` },
        { url: `${server.url}/302` },
        { expect_text: 'well' },
        { expect_text: 'gone' },
        { url: `${server.url}/500`, expect_status: [500] },
        { method: 'HEAD' },
        { url: `${server.url}/silent` },
        { url: 'http://127.0.0.1:1/' },
        { url: 'http://10.0.0.1/' },
        { url: 'http://127.0.0.1:99/' },
      ),
    })
    const seen = new Map(outputs.map(({ target, ok, status, error }) => [target, [ok, status, error]]))
    expect(Object.fromEntries(seen)).toEqual({
      t0: [true, 200, null],
      t1: [false, 500, 'status'],
      t2: [true, 302, null],
      t3: [true, 200, null],
      t4: [false, 200, 'text'],
      t5: [true, 500, null],
      t6: [true, 200, null],
      t7: [false, null, 'timeout'],
      t8: [false, null, 'refused'],
      t9: [false, null, 'blocked'],
      t10: [false, null, 'blocked'],
    })
    expect(outputs.find(({ target }) => target === 't0')).toEqual({
      target: 't0',
      url: `${server.url}/`,
      ok: true,
      status: 200,
      error: null,
      address: '127.0.0.1',
      total_ms: expect.any(Number),
      first_byte_ms: expect.any(Number),
      bytes: 11,
    })
    expect(metrics).toMatchObject({ 'counter.probes': 11, 'counter.failures': 6, 'histogram.total_ms.count': 11 })
  })

  it("probes every target once per interval, and sends the secret only to the target's own origin", async () => {
    const other = await serving((_request, response) => response.end())
    const server = await serving((_request, response) => response.writeHead(302, { location: `${other.url}/` }).end())
    const { outputs } = await runContinuous(httpProbe, {
      forSeconds: 2,
      config: {
        ...config(server, {}),
        allow_ports: [server.port, other.port],
        follow_redirects: 1,
        authorization: 'Bearer top-secret',
      },
    })
    expect(outputs).toHaveLength(2)
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer top-secret',
      'Bearer top-secret',
    ])
    expect(other.requests.map(({ headers }) => headers.authorization)).toEqual([undefined, undefined])
  })
})
