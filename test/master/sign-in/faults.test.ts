/** Sign-in with an identity provider that is hostile, faulty or gone, over real connections. */
import type { RequestListener } from 'node:http'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { systemTime } from '../../../src/runtime/index.ts'
import { eventually } from '../../kit/index.ts'
import { createSigner, type Signer } from '../../kit/jwt-signer.ts'
import { closeServer, listenLocally, PERSON } from '../../kit/oidc-issuer.ts'
import { runMaster, type TestMaster } from '../../kit/running-master.ts'
import { RULES, startSignInMaster } from './master.ts'

const TOKEN = '/api/v1/sign-in/token'
const CODE = {
  code: 'code-of-the-test',
  code_verifier: 'v'.repeat(43),
  redirect_uri: 'http://127.0.0.1:1/',
  nonce: 'nonce-of-the-test',
}
const UNAVAILABLE = 'the identity provider "corp" does not respond as it should; try again in a few seconds'
const CANNOT_BE_USED = 'the identity provider issued a token that cannot be used: '

let signer: Signer
let url: string
let token: RequestListener
let discovery: (document: Record<string, unknown>) => object | null
let endings: (() => Promise<void>)[]

beforeEach(async () => {
  signer = await createSigner(() => systemTime.wallMs())
  discovery = (document) => document
  const local = await listenLocally((request, response) => {
    if (request.url === '/token') return token(request, response)
    if (request.url === '/keys') return void response.end(JSON.stringify({ keys: [signer.publicJwk] }))
    const document = discovery({
      issuer: url,
      jwks_uri: `${url}/keys`,
      authorization_endpoint: `${url}/auth`,
      token_endpoint: `${url}/token`,
    })
    response.writeHead(document === null ? 503 : 200).end(JSON.stringify(document))
  })
  url = local.url
  endings = [() => closeServer(local.server)]
})
afterEach(async () => {
  for (const end of endings.toReversed()) await end()
})

async function start(others: readonly object[] = []): Promise<TestMaster> {
  const master = await startSignInMaster(url, { others })
  endings.push(() => master.stop())
  return master
}

/** @param claims On top of those of a right token. */
const idToken = (claims: object = {}): Promise<string> =>
  signer.sign({ iss: url, email: PERSON, nonce: CODE.nonce, ...claims })

function sends(body: object | string, status = 200): void {
  token = (_, response) => void response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body))
}

const exchange = async (master: TestMaster, body: object = CODE): Promise<[number, unknown]> => {
  const { status, json } = await master.call('POST', TOKEN, { token: '', body })
  return [status, json]
}

describe('an ID token', () => {
  it('is accepted without a refresh token and with the client as authorized party', async () => {
    const master = await start()
    const right = await idToken({ azp: 'muster' })
    sends({ id_token: right })
    expect(await exchange(master)).toEqual([
      200,
      { id_token: right, refresh_token: null, expires_in: expect.any(Number) },
    ])
  })

  it('of another audience, issuer, key, person, client or sign-in is refused, with the reason', async () => {
    const other = 'https://other.example'
    const master = await start([
      { name: 'other', issuer: other, audience: 'muster', jwks_url: `${url}/keys`, rules: RULES },
    ])
    const forger = await createSigner(() => systemTime.wallMs())
    const forged = await forger.sign({ iss: url, email: PERSON, nonce: CODE.nonce })
    for (const [wrong, detail] of [
      [await idToken({ aud: 'x' }), `${CANNOT_BE_USED}this token is not accepted: it is made for another audience`],
      [await idToken({ iss: other }), `${CANNOT_BE_USED}it is not one of the identity provider`],
      [forged, `${CANNOT_BE_USED}this token is not accepted: its signature is not one of its issuer`],
      [await idToken({ exp: 1 }), `${CANNOT_BE_USED}this token is not accepted: it has expired; get a new one`],
      [await idToken({ email: 'eve@example.com' }), 'this token grants nothing here'],
      [await idToken({ azp: 'x' }), 'the token was issued to another client of the identity provider'],
      [await idToken({ nonce: 'x' }), 'the token is of another sign-in (its nonce differs); sign in again'],
      [await idToken({ nonce: undefined }), 'the token is of another sign-in (its nonce differs); sign in again'],
      ['no JWT', `${CANNOT_BE_USED}it is not one of the identity provider`],
    ] as const) {
      sends({ id_token: wrong })
      expect(await exchange(master)).toEqual([403, { detail }])
    }
  })

  it('of a renewal needs no nonce', async () => {
    const master = await start()
    sends({ id_token: await idToken({ nonce: undefined }) })
    expect((await exchange(master, { refresh_token: 'r' }))[0]).toBe(200)
  })
})

describe('a token endpoint', () => {
  it('that is slow, gone, redirects, sends too much, or sends no JSON is refused, and the master serves', async () => {
    const master = await start()
    let followed = 0
    const target = await listenLocally((_, response) => {
      followed += 1
      response.end()
    })
    endings.push(() => closeServer(target.server))
    const faulty: readonly RequestListener[] = [
      () => {},
      (request) => void request.socket.destroy(),
      (_, response) => void response.writeHead(307, { location: target.url }).end(),
      (_, response) => void response.end('x'.repeat(1_048_577)),
      (_, response) => void response.end('no JSON'),
      (_, response) => void response.writeHead(500).end('{"error":"server_error"}'),
      (_, response) => void response.writeHead(400).end('no JSON'),
    ]
    for (const listener of faulty) {
      token = listener
      const { status, json, headers } = await master.call('POST', TOKEN, { token: '', body: CODE })
      expect([status, json, headers.get('retry-after')]).toEqual([503, { detail: UNAVAILABLE }, '2'])
    }
    expect(followed).toBe(0)
    expect((await master.call('GET', '/api/v1/me')).status).toBe(200)
  })

  it('that issues no ID token is refused with the scope that is missing', async () => {
    const master = await start()
    sends({ access_token: 'x' })
    const detail = 'the identity provider issued no ID token; SVC_SIGN_IN_SCOPES must contain "openid"'
    expect(await exchange(master)).toEqual([403, { detail }])
  })

  it('cannot write into the response or the log', async () => {
    const master = await start()
    sends({ error: '\u001b[31m<script>' }, 400)
    const detail = 'the identity provider refused the request of this master: an unknown error'
    expect(await exchange(master)).toEqual([403, { detail }])
    expect(JSON.stringify(master.lines)).not.toContain('script')
  })

  it('gets the secret in the form if it supports nothing else', async () => {
    discovery = (document) => ({ ...document, token_endpoint_auth_methods_supported: ['client_secret_post'] })
    const master = await start()
    const id = await idToken()
    const seen: (string | undefined)[] = []
    token = (request, response) => {
      seen.push(request.headers.authorization)
      request.on('data', (chunk) => seen.push(String(chunk)))
      request.on('end', () => response.end(JSON.stringify({ id_token: id })))
    }
    expect((await exchange(master))[0]).toBe(200)
    expect(seen).toEqual([undefined, expect.stringContaining('client_secret=client-secret-of-the-test')])
  })
})

describe('a discovery document', () => {
  it.each([
    ['of another issuer', { issuer: 'https://other.example' }],
    ['without a token endpoint', { token_endpoint: undefined }],
    ['with an endpoint over plain HTTP', { authorization_endpoint: 'http://idp.example/auth' }],
    ['with a script as endpoint', { end_session_endpoint: 'javascript:alert(1)' }],
  ])('%s is not used', async (_, change) => {
    discovery = (document) => ({ ...document, ...change })
    const master = await start()
    const { status, json } = await master.call('GET', '/api/v1/sign-in', { token: '' })
    expect([status, json]).toEqual([503, { detail: UNAVAILABLE }])
  })

  it('that cannot be read is read again 2 s later', async () => {
    discovery = () => null
    const master = await start()
    const read = async () => (await master.call('GET', '/api/v1/sign-in', { token: '' })).status
    expect(await read()).toBe(503)
    discovery = (document) => document
    expect(await read()).toBe(503)
    await eventually('the document was read again', async () => (await read()) === 200)
  })
})

describe('the exchange', () => {
  it('is limited to ten a second, and to 16 KiB', async () => {
    const master = await start()
    sends({ error: 'invalid_grant' }, 400)
    const all = await Promise.all(Array.from({ length: 20 }, () => exchange(master)))
    expect(all.filter(([status]) => status === 503).length).toBeGreaterThanOrEqual(8)
    expect(all.filter(([status]) => status === 403).length).toBeGreaterThanOrEqual(10)
    expect(await exchange(master, { ...CODE, redirect_uri: 'x'.repeat(16_384) })).toEqual([
      413,
      { detail: 'the body is larger than 16384 bytes' },
    ])
  })

  it('does not exist without an identity provider', async () => {
    const master = await runMaster()
    expect((await master.call('GET', '/api/v1/sign-in', { token: '' })).json).toEqual({ provider: null })
    const detail = 'this master has no identity provider; sign in with a token'
    expect(await exchange(master)).toEqual([404, { detail }])
  })
})
