/** Sign-in by an identity provider: the attempt, its response, and when a session is renewed or ends. */
import { createHash } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { authorizationUrl, checkResponse, newAttempt } from '../../../src/dashboard/sign-in/provider/attempt.ts'
import { dueAt, endUrl, sessionOf } from '../../../src/dashboard/sign-in/provider/session.ts'

const PROVIDER = {
  name: 'corp',
  client_id: 'muster',
  scopes: 'openid email',
  authorization_endpoint: 'https://idp.example/auth?tenant=1',
  end_session_endpoint: 'https://idp.example/end',
}
const PAGE = 'https://muster.example/'
const attempt = newAttempt(PROVIDER, PAGE, '#/workers')
const responseOf = (fields: Record<string, string>): URLSearchParams => new URLSearchParams(fields)

describe('an attempt', () => {
  it('draws other secrets each time, and sends only the digest of its verifier', async () => {
    const other = newAttempt(PROVIDER, PAGE, '')
    expect(new Set([attempt, other].flatMap(({ state, nonce, verifier }) => [state, nonce, verifier])).size).toBe(6)
    expect(attempt.verifier).toMatch(/^[\w-]{43}$/)
    const url = await authorizationUrl(attempt)
    expect(Object.fromEntries(url.searchParams)).toEqual({
      tenant: '1',
      response_type: 'code',
      client_id: 'muster',
      redirect_uri: PAGE,
      scope: 'openid email',
      state: attempt.state,
      nonce: attempt.nonce,
      code_challenge: createHash('sha256').update(attempt.verifier).digest('base64url'),
      code_challenge_method: 'S256',
    })
    expect(url.href).not.toContain(attempt.verifier)
  })

  it('is exchanged if the response has its state', () => {
    const response = responseOf({ code: 'c-1', state: attempt.state })
    expect(checkResponse(response, JSON.stringify(attempt))).toEqual({
      kind: 'accepted',
      attempt,
      exchange: { code: 'c-1', code_verifier: attempt.verifier, redirect_uri: PAGE, nonce: attempt.nonce },
    })
  })

  it('is refused with another state, without an attempt of this tab, and with the reason of the provider', () => {
    const own = JSON.stringify(attempt)
    const notOfThisTab = 'This sign-in was not started in this tab. Sign in again.'
    for (const [fields, text, why] of [
      [{ code: 'c-1', state: 'x' }, own, notOfThisTab],
      [{ code: 'c-1', state: attempt.state }, null, notOfThisTab],
      [{ error: 'access_denied', state: 'x' }, own, notOfThisTab],
      [
        { error: 'access_denied', state: attempt.state },
        own,
        'The identity provider did not sign you in: access_denied.',
      ],
      [
        { error: 'x', error_description: 'no such user', state: attempt.state },
        own,
        'The identity provider did not sign you in: no such user.',
      ],
    ] as const)
      expect(checkResponse(responseOf(fields), text)).toEqual({ kind: 'refused', why })
  })
})

describe('a session', () => {
  const before = { provider: PROVIDER, refreshToken: 'r-1', activeMs: 0 }
  const issued = { id_token: 'i', refresh_token: null, expires_in: 100 }

  it('is renewed after 80 % of the life of its token', () => {
    const session = sessionOf(issued, before, 1_000)
    expect([79_999, 80_999, 81_000].map((nowMs) => dueAt(session, nowMs))).toEqual(['nothing', 'nothing', 'renewal'])
  })

  it('keeps its refresh token if the provider issues no other', () => {
    expect(sessionOf(issued, before, 0).refreshToken).toBe('r-1')
    expect(sessionOf({ ...issued, refresh_token: 'r-2' }, before, 0).refreshToken).toBe('r-2')
  })

  it('ends after 12 h without input, also instead of a renewal', () => {
    const session = sessionOf({ ...issued, expires_in: 86_400 }, before, 0)
    const hours = (count: number): number => count * 3_600_000
    expect([hours(12) - 1, hours(12)].map((nowMs) => dueAt(session, nowMs))).toEqual(['nothing', 'end'])
    expect(dueAt(session, hours(30))).toBe('end')
    expect(dueAt({ ...session, activeMs: hours(11) }, hours(22))).toBe('renewal')
  })

  it('ends at the provider without a token in the address', () => {
    expect(endUrl(PROVIDER, PAGE)?.href).toBe(
      'https://idp.example/end?client_id=muster&post_logout_redirect_uri=https%3A%2F%2Fmuster.example%2F',
    )
    expect(endUrl({ ...PROVIDER, end_session_endpoint: null }, PAGE)).toBeNull()
  })
})
