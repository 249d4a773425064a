/** @module cmd/sign-in-settings  Defines the settings by which people sign in with an identity provider. */
import type { SignInSettings, TokenSettings } from '../master/index.ts'
import { systemTime, type Log } from '../runtime/index.ts'
import { text } from './readers.ts'
import { watchedSecret } from './secret-file.ts'
import { setting, type SettingFault, type Values } from './settings.ts'

const scopes = (value: string): string => {
  const named = value.split(/[\s,]+/).filter((each) => each !== '')
  if (named.includes('openid')) return named.join(' ')
  throw new Error(`${JSON.stringify(value)} does not contain the scope openid; for example "openid email"`)
}

export const SIGN_IN = {
  signInIssuer: setting(text, {
    name: 'SVC_SIGN_IN_ISSUER',
    help:
      'Name of the issuer in SVC_JWT_ISSUERS by which people sign in to the dashboard; ' +
      'its audience is the client ID.',
  }),
  signInClientSecret: setting(text, {
    name: 'SVC_SIGN_IN_CLIENT_SECRET',
    help: 'Secret of the client at this issuer. Not set: the client is public.',
    secret: true,
  }),
  signInScopes: setting(scopes, {
    name: 'SVC_SIGN_IN_SCOPES',
    help: 'Scopes that a sign-in asks for; some providers issue refresh tokens only with offline_access.',
    fallback: 'openid email',
  }),
} as const

type SignInValues = Values<typeof SIGN_IN>

/** @returns the faults of settings that do not fit the issuers. */
export function signInFaults(
  { signInIssuer: name, signInClientSecret: secret }: SignInValues,
  { issuers = [] }: TokenSettings,
): readonly SettingFault[] {
  if (name === undefined) {
    const problem = 'has no effect without SVC_SIGN_IN_ISSUER; set both, or neither'
    return secret === undefined ? [] : [{ name: 'SVC_SIGN_IN_CLIENT_SECRET', problem }]
  }
  if (issuers.some((each) => each.name === name)) return []
  const known = issuers.map((each) => each.name).join(', ')
  const problem = `is not the name of an issuer in SVC_JWT_ISSUERS; known: ${known === '' ? 'none' : known}`
  return [{ name: 'SVC_SIGN_IN_ISSUER', problem }]
}

/** @returns the settings, undefined if people sign in with tokens alone, and what stops watching the secret. */
export function readSignIn(
  { signInIssuer: issuer, signInClientSecret, signInScopes }: SignInValues,
  log: Log,
): { readonly signIn: SignInSettings | undefined; readonly stop: () => void } {
  if (issuer === undefined) return { signIn: undefined, stop: () => {} }
  const secret = watchedSecret('SVC_SIGN_IN_CLIENT_SECRET', signInClientSecret ?? '', process.env, systemTime, log)
  return {
    signIn: { issuer, clientSecret: () => secret.current() || undefined, scopes: signInScopes },
    stop: () => secret.stop(),
  }
}
