/** JWTs at a whole master: requests, streams and the control channel. */
import { once } from 'node:events'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { WebSocket } from 'ws'
import { parseTokens } from '../../src/master/auth/index.ts'
import { systemTime } from '../../src/runtime/index.ts'
import { createSigner, ISSUER, type Signer } from '../kit/jwt-signer.ts'
import { startTestMaster, TOKENS, type TestMaster } from '../kit/running-master.ts'

const TYPE = '/api/v1/automations/mailer'
const RULES = [
  { when: { '/groups': 'sre' }, role: 'editor', types: ['mailer'] },
  { when: { '/sub': 'pod:*' }, role: 'worker', types: ['mailer'], worker_claim: '/pod/name' },
]

let master: TestMaster
let signer: Signer
const lines: string[] = []

beforeAll(async () => {
  signer = await createSigner(() => systemTime.wallMs())
  const issuers = [{ name: 'corp', issuer: ISSUER, audience: 'muster', jwks_file: '/keys', rules: RULES }]
  const reading = parseTokens({ SVC_JWT_ISSUERS: JSON.stringify(issuers) })
  if (reading.kind === 'invalid') throw new Error(JSON.stringify(reading.faults))
  const keys = async (): Promise<string> => JSON.stringify({ keys: [signer.publicJwk] })
  master = await startTestMaster({
    tokens: { ...reading.tokens, admin: TOKENS.admin, worker: TOKENS.worker },
    keyReader: { file: keys, url: keys },
    audit: { classes: new Set(['control', 'auth']), write: (line) => lines.push(line) > 0 },
  })
})
afterAll(() => master.stop())

/** @returns the socket of a worker that the master serves, or the code and reason with which it was closed. */
async function connect(id: string, token: string): Promise<WebSocket | string> {
  const socket = new WebSocket(`${master.url.replace('http', 'ws')}${TYPE}/workers/${id}/control`, {
    headers: { authorization: `Bearer ${token}` },
  })
  const closed = once(socket, 'close').then(([code, reason]) => `${String(code)} ${String(reason)}`)
  await Promise.race([once(socket, 'open'), closed])
  const hardware = { cores: 1, ram_gb: 1, hostname: 'h', kernel: 'k' }
  const register = { type: 'register', worker_id: id, automation_type: 'mailer', protocol_version: 1, hardware }
  for (const frame of [register, { type: 'ping', id: 'p' }]) socket.send(JSON.stringify(frame), () => {})
  return Promise.race([once(socket, 'message').then(() => socket), closed])
}

const podToken = (pod: string, exp?: number): Promise<string> =>
  signer.sign({ sub: `pod:${pod}`, pod: { name: pod }, ...(exp !== undefined && { exp }) })

it('accepts a JWT, shows whose it is, and writes its holder to the audit trail', async () => {
  const token = await signer.sign({ groups: ['sre'], sub: 'ana@example.com' })
  const statuses = await Promise.all(
    Array.from({ length: 20 }, async () => (await master.call('GET', `${TYPE}/workers`, { token })).status),
  )
  expect(new Set(statuses)).toEqual(new Set([200]))
  expect((await master.call('GET', '/api/v1/me', { token })).json).toMatchObject({
    role: 'scoped',
    automations: ['mailer'],
    name: 'ana@example.com',
    issuer: 'corp',
    expires_at: expect.any(Number),
  })
  await master.call('PUT', `${TYPE}/revisions/r-1`, { token, body: { config: { slots: 2 } } })
  expect(lines.map((line) => JSON.parse(line) as object)).toContainEqual(
    expect.objectContaining({
      action: 'revision.put',
      actor: { name: 'ana@example.com', kind: 'jwt', issuer: 'corp', roles: ['scoped'] },
    }),
  )
})

it('refuses other JWTs with 403 and a header by which clients get a new token', async () => {
  const other = await createSigner(() => systemTime.wallMs())
  for (const [token, detail] of [
    [await other.sign({ groups: 'sre' }), 'this token is not accepted: its signature is not one of its issuer'],
    [await signer.sign({ groups: 'sre', aud: 'x' }), 'this token is not accepted: it is made for another audience'],
    [await signer.sign({ groups: 'sre', exp: 1 }), 'this token is not accepted: it has expired; get a new one'],
  ] as const) {
    const { status, json, headers } = await master.call('GET', '/api/v1/me', { token })
    expect([status, json]).toEqual([403, { detail }])
    expect(headers.get('www-authenticate')).toBe('Bearer error="invalid_token"')
  }
  const nothing = await master.call('GET', '/api/v1/me', { token: await signer.sign({}) })
  expect([nothing.status, nothing.json]).toEqual([403, { detail: 'this token grants nothing here' }])
  const wrong = await master.call('GET', '/api/v1/me', { token: 'unknown-token-of-the-test' })
  expect([wrong.status, wrong.json, wrong.headers.get('www-authenticate')]).toEqual([
    403,
    { detail: 'unknown token' },
    null,
  ])
})

it('binds the id of a worker to a claim: swapped tokens get 4401, the first stays connected (RA16)', async () => {
  const first = await connect('crawler-1', await podToken('crawler-1'))
  expect(first).toBeInstanceOf(WebSocket)
  expect(await connect('crawler-1', await podToken('crawler-2'))).toBe(
    '4401 the worker token does not cover this worker',
  )
  expect(await connect('crawler-2', await podToken('crawler-1'))).toContain('4401')
  expect((first as WebSocket).readyState).toBe(WebSocket.OPEN)
  const rpc = await master.call('POST', `${TYPE}/workers/crawler-1/rpc`, {
    token: await podToken('crawler-2'),
    body: { jsonrpc: '2.0', id: 1, method: 'tasks.reserve', params: { limit: 1 } },
  })
  expect(rpc.status).toBe(403)
})

it('closes the control channel and ends streams when a JWT expires, and a new one connects', async () => {
  const exp = Math.floor(systemTime.wallMs() / 1_000) + 5
  const socket = await connect('crawler-3', await podToken('crawler-3', exp))
  if (typeof socket === 'string') throw new Error(socket)
  const token = await signer.sign({ groups: 'sre', exp })
  const stream = await fetch(`${master.url}/api/v1/events`, { headers: { authorization: `Bearer ${token}` } })
  expect(stream.status).toBe(200)
  const closed = once(socket, 'close')
  await stream.text()
  expect((await closed)[0]).toBe(4401)
  expect(systemTime.wallMs() - exp * 1_000).toBeLessThan(5_000)
  expect(await connect('crawler-3', await podToken('crawler-3'))).toBeInstanceOf(WebSocket)
})

it('closes a control channel with a forged JWT, and says why', async () => {
  const other = await createSigner(() => systemTime.wallMs())
  expect(await connect('crawler-4', await other.sign({ sub: 'pod:crawler-4', pod: { name: 'crawler-4' } }))).toBe(
    '4401 this token is not accepted: its signature is not one of its issuer',
  )
})
