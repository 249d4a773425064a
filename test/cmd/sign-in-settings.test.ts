/** The settings of the sign-in with an identity provider. */
import { describe, expect, it } from '@jest/globals'
import { readSignIn, SIGN_IN, signInFaults } from '../../src/cmd/sign-in-settings.ts'
import { readSettings } from '../../src/cmd/settings.ts'
import { parseTokens } from '../../src/master/auth/index.ts'
import { recordingLog } from '../kit/index.ts'

const ISSUERS = JSON.stringify([
  {
    name: 'corp',
    issuer: 'https://idp.example',
    audience: 'muster',
    rules: [{ when: {}, role: 'viewer', types: ['*'] }],
  },
])

function faultsOf(environment: Record<string, string>): readonly string[] {
  const { values, faults } = readSettings(SIGN_IN, environment, [])
  const reading = parseTokens(environment)
  if (reading.kind === 'invalid') throw new Error(JSON.stringify(reading.faults))
  return [...faults, ...signInFaults(values, reading.tokens)].map(({ name, problem }) => `${name} ${problem}`)
}

describe('the settings of the sign-in', () => {
  it('name an issuer of JWTs', () => {
    expect(faultsOf({ SVC_SIGN_IN_ISSUER: 'corp', SVC_JWT_ISSUERS: ISSUERS })).toEqual([])
    expect(faultsOf({ SVC_SIGN_IN_ISSUER: 'crop', SVC_JWT_ISSUERS: ISSUERS })).toEqual([
      'SVC_SIGN_IN_ISSUER is not the name of an issuer in SVC_JWT_ISSUERS; known: corp',
    ])
    expect(faultsOf({ SVC_SIGN_IN_ISSUER: 'corp' })).toEqual([
      'SVC_SIGN_IN_ISSUER is not the name of an issuer in SVC_JWT_ISSUERS; known: none',
    ])
  })

  it('contain the scope openid, and a secret only with an issuer', () => {
    expect(faultsOf({ SVC_SIGN_IN_SCOPES: 'email' })).toEqual([
      'SVC_SIGN_IN_SCOPES "email" does not contain the scope openid; for example "openid email"',
    ])
    expect(faultsOf({ SVC_SIGN_IN_CLIENT_SECRET: 'secret-of-the-test' })).toEqual([
      'SVC_SIGN_IN_CLIENT_SECRET has no effect without SVC_SIGN_IN_ISSUER; set both, or neither',
    ])
  })

  it('are absent unless an issuer is named, and the client is public without a secret', () => {
    const read = (environment: Record<string, string>) =>
      readSignIn(readSettings(SIGN_IN, environment, []).values, recordingLog()).signIn
    expect(read({})).toBeUndefined()
    const environment = { SVC_SIGN_IN_ISSUER: 'corp', SVC_SIGN_IN_SCOPES: 'openid, groups' }
    const signIn = read(environment)
    expect([signIn?.issuer, signIn?.scopes, signIn?.clientSecret()]).toEqual(['corp', 'openid groups', undefined])
    expect(read({ ...environment, SVC_SIGN_IN_CLIENT_SECRET: 'secret-of-the-test' })?.clientSecret()).toBe(
      'secret-of-the-test',
    )
  })
})
