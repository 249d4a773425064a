/**
 * @module master/sign-in/token-endpoint
 * Forwards a code or a refresh token to the token endpoint of the identity provider (RFC 6749 sections 4.1.3 and 6, RFC
 * 7636). The client authenticates with its secret, if it has one.
 */
import { FleetError, type SignInExchange } from '../../protocol/index.ts'
import type { Log } from '../../runtime/index.ts'
import { postForm, type FormResponse, type IssuerSettings } from '../auth/index.ts'
import { unavailable, type Provider } from './provider.ts'

export interface IssuedTokens {
  readonly idToken: string
  readonly refreshToken: string | null
}

export interface TokenRequest {
  readonly issuer: IssuerSettings
  readonly provider: Provider
  /** undefined: the client is public. */
  readonly clientSecret: string | undefined
  readonly exchange: SignInExchange
  readonly log: Log
}

/**
 * @throws {FleetError} FORBIDDEN if the provider refuses the code or the refresh token, ISSUER_UNAVAILABLE if it does
 *   not respond as it should.
 */
export async function requestTokens({ issuer, provider, clientSecret, exchange, log }: TokenRequest) {
  const form = new URLSearchParams(grantOf(exchange))
  const headers = authenticate(form, issuer.audience, clientSecret, provider)
  let response: FormResponse
  try {
    response = await postForm(provider.tokenEndpoint, form, headers)
  } catch (error) {
    log.warn('the identity provider did not respond to an exchange', { issuer: issuer.name, error })
    throw unavailable(issuer, error)
  }
  const body = objectOf(response.text)
  if (response.status === 200 && body !== null) return tokensIn(body)
  const error = body?.['error']
  if (response.status >= 400 && response.status < 500 && typeof error === 'string') throw refused(issuer, error, log)
  log.warn('the identity provider sent an unexpected response', { issuer: issuer.name, status: response.status })
  throw unavailable(issuer)
}

function grantOf(exchange: SignInExchange): Record<string, string> {
  if ('refresh_token' in exchange) return { grant_type: 'refresh_token', refresh_token: exchange.refresh_token }
  const { code, code_verifier, redirect_uri } = exchange
  return { grant_type: 'authorization_code', code, code_verifier, redirect_uri }
}

/** Adds the client to the form. @returns the headers of the request. */
function authenticate(
  form: URLSearchParams,
  clientId: string,
  clientSecret: string | undefined,
  { authMethods }: Provider,
): Record<string, string> {
  const isBasic = authMethods.length === 0 || authMethods.includes('client_secret_basic')
  if (clientSecret !== undefined && isBasic) {
    const credentials = [clientId, clientSecret].map(formEncoded).join(':')
    return { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }
  }
  form.set('client_id', clientId)
  if (clientSecret !== undefined) form.set('client_secret', clientSecret)
  return {}
}

/** The encoding of RFC 6749 section 2.3.1. */
const formEncoded = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1)

function tokensIn({ id_token: idToken, refresh_token: refreshToken }: Readonly<Record<string, unknown>>): IssuedTokens {
  if (typeof idToken !== 'string')
    throw new FleetError(
      'FORBIDDEN',
      'the identity provider issued no ID token; SVC_SIGN_IN_SCOPES must contain "openid"',
    )
  return { idToken, refreshToken: typeof refreshToken === 'string' ? refreshToken : null }
}

/** The code or the refresh token is wrong (`invalid_grant`), or the settings are. */
function refused({ name }: IssuerSettings, error: string, log: Log): FleetError {
  if (error === 'invalid_grant')
    return new FleetError('FORBIDDEN', 'this sign-in has expired, was used before or was revoked; sign in again')
  const known = /^[\w.-]{1,64}$/.test(error) ? error : 'an unknown error'
  log.warn('the identity provider refuses the client; check the settings SVC_SIGN_IN_…', { issuer: name, error: known })
  return new FleetError('FORBIDDEN', `the identity provider refused the request of this master: ${known}`)
}

function objectOf(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}
