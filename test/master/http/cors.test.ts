/** Pages of other origins: those of SVC_CORS_ORIGINS may call the API, all others may not (D122). */
import { describe, expect, it } from '@jest/globals'
import { head, runMaster, sendRaw, TOKENS } from '../../kit/running-master.ts'

const ALLOWED = 'https://app.example.com'
const OTHERS = [
  'https://evil.example',
  'null',
  'http://app.example.com',
  'https://app.example.com:8443',
  'https://app.example.com.evil.example',
  'https://sub.app.example.com',
  'https://APP.example.com',
  `${ALLOWED}, https://evil.example`,
]
const TASKS = '/api/v1/automations/mailer/tasks'
const QUEUE = '/api/v1/automations/mailer/queue'
const PREFLIGHT = ['Access-Control-Request-Method: POST', 'Access-Control-Request-Headers: authorization,content-type']
const SETTINGS = {
  submitRpsPerToken: 0,
  idempotencyTtlSeconds: 3_600,
  maxBodyBytes: 131_072,
  maxLostLeases: 10,
  maxQueueLength: 10_000,
  maxSockets: 1_000,
}

async function withOrigins(...corsOrigins: readonly string[]) {
  const { port } = await runMaster({ settings: { ...SETTINGS, corsOrigins } })
  return async (method: string, path: string, lines: readonly string[], token: string | null = TOKENS.admin) => {
    const { status, text } = await sendRaw(port, head(method, path, lines, token))
    const [first = ''] = text.split('\r\n\r\n')
    const fields = first.split('\r\n').map((line) => /^(?<name>[\w-]+): (?<value>.*)$/.exec(line)?.groups)
    const headers = new Map(fields.map((field) => [field?.['name']?.toLowerCase(), field?.['value']]))
    return { status, headers }
  }
}

type Headers = Awaited<ReturnType<Awaited<ReturnType<typeof withOrigins>>>>['headers']
const corsOf = (headers: Headers): unknown[] =>
  [...headers.keys()].filter((name) => name?.startsWith('access-') === true)

describe('SVC_CORS_ORIGINS', () => {
  it('is none by default: no CORS header, no Vary, and a preflight is rejected', async () => {
    const call = await withOrigins()
    for (const { status, headers } of [
      await call('GET', QUEUE, [`Origin: ${ALLOWED}`]),
      await call('OPTIONS', TASKS, [`Origin: ${ALLOWED}`, ...PREFLIGHT], null),
    ]) {
      expect([200, 401]).toContain(status)
      expect([corsOf(headers), headers.get('vary')]).toEqual([[], undefined])
    }
  })

  it('lets a page of the origin read responses, refusals and what the client reads from their heads', async () => {
    const call = await withOrigins('http://127.0.0.1:3000', ALLOWED)
    for (const [path, token, status] of [
      [QUEUE, TOKENS.admin, 200],
      [QUEUE, null, 401],
      ['/api/v1/nothing', TOKENS.admin, 404],
      ['/healthz', null, 200],
    ] as const) {
      const response = await call('GET', path, [`Origin: ${ALLOWED}`], token)
      expect(response.status).toBe(status)
      expect(response.headers.get('access-control-allow-origin')).toBe(ALLOWED)
      expect(response.headers.get('access-control-expose-headers')).toBe('Muster-Epoch, Muster-Request-Id, Retry-After')
      expect(response.headers.get('vary')).toBe('Origin')
      expect(response.headers.has('access-control-allow-credentials')).toBe(false)
    }
  })

  it.each(['GET', 'POST', 'DELETE'])('responds without a token to a preflight for %s', async (method) => {
    const call = await withOrigins(ALLOWED)
    const lines = [`Origin: ${ALLOWED}`, `Access-Control-Request-Method: ${method}`]
    const { status, headers } = await call('OPTIONS', TASKS, lines, null)
    expect([status, headers.get('access-control-allow-origin'), headers.get('vary')]).toEqual([204, ALLOWED, 'Origin'])
    expect(headers.get('access-control-allow-methods')?.split(', ')).toContain(method)
    const names = headers.get('access-control-allow-headers')?.toLowerCase().split(', ')
    expect(names).toEqual(expect.arrayContaining(['authorization', 'content-type', 'last-event-id', 'muster-actor']))
    expect(headers.get('access-control-max-age')).toBe('600')
  })

  it.each(OTHERS)('gives no CORS header to the origin %s', async (origin) => {
    const call = await withOrigins(ALLOWED)
    const read = await call('GET', QUEUE, [`Origin: ${origin}`])
    expect([read.status, corsOf(read.headers), read.headers.get('vary')]).toEqual([200, [], 'Origin'])
    const preflight = await call('OPTIONS', TASKS, [`Origin: ${origin}`, ...PREFLIGHT], null)
    expect([preflight.status, corsOf(preflight.headers), preflight.headers.get('vary')]).toEqual([401, [], 'Origin'])
  })

  it('varies by origin also without one, and checks every other OPTIONS as before', async () => {
    const call = await withOrigins(ALLOWED)
    const read = await call('GET', QUEUE, [])
    expect([corsOf(read.headers), read.headers.get('vary')]).toEqual([[], 'Origin'])
    expect((await call('OPTIONS', TASKS, [`Origin: ${ALLOWED}`], null)).status).toBe(401)
    expect((await call('OPTIONS', TASKS, [`Origin: ${ALLOWED}`])).status).toBe(405)
  })
})
