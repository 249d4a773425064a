import { expect, it } from '@jest/globals'
import { renewalMsOf } from '../../src/worker/token-lifetime.ts'
import { rawToken } from '../kit/jwt-signer.ts'

it('renewalMsOf returns 80 % of the lifetime of a JWT, and null for other tokens', () => {
  const token = (claims: object): string => rawToken('{"alg":"ES256"}', JSON.stringify(claims))
  expect(renewalMsOf(token({ iat: 1_000, exp: 4_600 }))).toBe(3_880_000)
  for (const other of [token({ iat: 1_000 }), token({ exp: 1 }), token({ iat: 5, exp: 5 }), 'a.b.c', 'static', ''])
    expect([other, renewalMsOf(other)]).toEqual([other, null])
})
