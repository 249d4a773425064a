/** Sign-in at a whole master with a real identity provider (oidc-provider): exchange, renewal, refusals. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { systemTime } from '../../../src/runtime/index.ts'
import { eventually } from '../../kit/index.ts'
import {
  authorize,
  CLIENT_ID,
  CLIENT_SECRET,
  PERSON,
  startOidcIssuer,
  type Authorization,
  type OidcIssuer,
} from '../../kit/oidc-issuer.ts'
import type { TestMaster } from '../../kit/running-master.ts'
import { startSignInMaster } from './master.ts'

const REDIRECT_URI = 'http://127.0.0.1:1/'
const TOKEN = '/api/v1/sign-in/token'

interface SignedIn {
  readonly id_token: string
  readonly refresh_token: string
  readonly expires_in: number
}

describe.each([
  ['a client with a secret', false],
  ['a public client', true],
])('sign-in by %s', (_, isPublic) => {
  const lines: string[] = []
  let issuer: OidcIssuer
  let master: TestMaster
  beforeAll(async () => {
    issuer = await startOidcIssuer({ redirectUri: REDIRECT_URI, isPublic })
    master = await startSignInMaster(issuer.url, { secret: isPublic ? undefined : CLIENT_SECRET, lines })
  })
  afterAll(async () => {
    await master.stop()
    await issuer.stop()
  })
  const exchange = (body: object) => master.call('POST', TOKEN, { token: '', body })
  const newCode = (): Promise<Authorization> => authorize(`${issuer.url}/auth`, REDIRECT_URI)

  it('names where people sign in', async () => {
    expect((await master.call('GET', '/api/v1/sign-in', { token: '' })).json).toEqual({
      provider: {
        name: 'corp',
        client_id: CLIENT_ID,
        scopes: 'openid email',
        authorization_endpoint: `${issuer.url}/auth`,
        end_session_endpoint: `${issuer.url}/session/end`,
      },
    })
  })

  it('exchanges a code for a bearer token, renews it, and writes both to the audit trail', async () => {
    const { status, json, headers } = await exchange(await newCode())
    expect([status, json]).toEqual([
      200,
      { id_token: expect.any(String), refresh_token: expect.any(String), expires_in: expect.any(Number) },
    ])
    expect([headers.get('cache-control'), headers.get('set-cookie')]).toEqual(['no-store', null])
    const first = json as SignedIn
    expect(first.expires_in).toBeGreaterThan(3_590)
    const renewed = (await exchange({ refresh_token: first.refresh_token })).json as SignedIn
    expect(renewed.refresh_token).not.toBe(first.refresh_token)
    for (const token of [first.id_token, renewed.id_token])
      expect((await master.call('GET', '/api/v1/me', { token })).json).toMatchObject({
        name: PERSON,
        issuer: 'corp',
        automations: ['mailer'],
        permissions: ['read', 'operate'],
      })
    const actor = { name: PERSON, kind: 'jwt', issuer: 'corp', roles: ['scoped'] }
    expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
      expect.objectContaining({ action: 'sign.in', outcome: 'done', actor }),
      expect.objectContaining({ action: 'sign.renew', outcome: 'done', actor }),
    ])
    expect(lines.join('').includes(first.refresh_token)).toBe(false)
  })

  it('refuses a code that was used before, and a refresh token that was rotated', async () => {
    const code = await newCode()
    const { refresh_token: old } = (await exchange(code)).json as SignedIn
    expect((await exchange({ refresh_token: old })).status).toBe(200)
    const detail = 'this sign-in has expired, was used before or was revoked; sign in again'
    for (const body of [code, { refresh_token: old }, { refresh_token: 'unknown' }]) {
      const { status, json } = await exchange(body)
      expect([status, json]).toEqual([403, { detail }])
    }
  })

  it('refuses a wrong verifier, redirect URI or nonce', async () => {
    const expired = 'this sign-in has expired, was used before or was revoked; sign in again'
    for (const [wrong, detail] of [
      [{ code_verifier: 'x'.repeat(43) }, expired],
      [{ redirect_uri: 'http://127.0.0.1:2/' }, expired],
      [{ nonce: 'another-nonce-of-16' }, 'the token is of another sign-in (its nonce differs); sign in again'],
    ] as const) {
      const { status, json } = await exchange({ ...(await newCode()), ...wrong })
      expect([status, json]).toEqual([403, { detail }])
    }
  })
})

it('refuses a code that has expired', async () => {
  const issuer = await startOidcIssuer({ redirectUri: REDIRECT_URI, codeSeconds: 1 })
  const master = await startSignInMaster(issuer.url)
  try {
    const body = await authorize(`${issuer.url}/auth`, REDIRECT_URI)
    const issuedMs = systemTime.wallMs()
    await eventually('the code has expired', () => systemTime.wallMs() > issuedMs + 2_000)
    const { status, json } = await master.call('POST', TOKEN, { token: '', body })
    expect([status, json]).toEqual([
      403,
      { detail: 'this sign-in has expired, was used before or was revoked; sign in again' },
    ])
  } finally {
    await master.stop()
    await issuer.stop()
  }
})

it('says that the issuer refuses the client if its secret is wrong, and names the settings in the log', async () => {
  const issuer = await startOidcIssuer({ redirectUri: REDIRECT_URI })
  const master = await startSignInMaster(issuer.url, { secret: 'wrong-secret-of-the-test' })
  try {
    const body = await authorize(`${issuer.url}/auth`, REDIRECT_URI)
    const { status, json } = await master.call('POST', TOKEN, { token: '', body })
    expect([status, json]).toEqual([
      403,
      { detail: 'the identity provider refused the request of this master: invalid_client' },
    ])
    expect(JSON.stringify(master.lines)).toContain('check the settings SVC_SIGN_IN_')
  } finally {
    await master.stop()
    await issuer.stop()
  }
})
