/**
 * @module dashboard/sign-in/provider/attempt
 * One attempt to sign in by an identity provider: what the page draws and remembers before its user leaves, and whether
 * the response that the user brings back belongs to it (authorization code with PKCE, RFC 7636).
 */
import type { SignInBody, SignInExchange } from '../../../protocol/index.ts'

export type Provider = NonNullable<SignInBody['provider']>

/** Remembered in the session storage of the tab, until its user comes back. */
export interface Attempt {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  readonly redirectUri: string
  /** The page to return to. */
  readonly hash: string
  readonly provider: Provider
}

const RANDOM_BYTES = 32

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCodePoint(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}

const drawn = (): string => base64url(crypto.getRandomValues(new Uint8Array(RANDOM_BYTES)))

export const newAttempt = (provider: Provider, redirectUri: string, hash: string): Attempt => ({
  state: drawn(),
  nonce: drawn(),
  verifier: drawn(),
  redirectUri,
  hash,
  provider,
})

/** The address at the provider to which the user is sent. It may have a query of its own. */
export async function authorizationUrl({ state, nonce, verifier, redirectUri, provider }: Attempt): Promise<URL> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
  const url = new URL(provider.authorization_endpoint)
  for (const [name, value] of Object.entries({
    response_type: 'code',
    client_id: provider.client_id,
    redirect_uri: redirectUri,
    scope: provider.scopes,
    state,
    nonce,
    code_challenge: base64url(new Uint8Array(digest)),
    code_challenge_method: 'S256',
  }))
    url.searchParams.set(name, value)
  return url
}

export type Checked =
  | { readonly kind: 'accepted'; readonly attempt: Attempt; readonly exchange: SignInExchange }
  | { readonly kind: 'refused'; readonly why: string }

const MAX_REASON_CHARS = 200

/** @param text The attempt that this tab remembers as JSON; null if there is none. */
export function checkResponse(response: URLSearchParams, text: string | null): Checked {
  const refused = (why: string): Checked => ({ kind: 'refused', why })
  const attempt = text === null ? null : (JSON.parse(text) as Attempt)
  if (attempt === null || attempt.state !== response.get('state'))
    return refused('This sign-in was not started in this tab. Sign in again.')
  const code = response.get('code')
  if (code === null) {
    const reason = response.get('error_description') ?? response.get('error') ?? 'no reason'
    return refused(`The identity provider did not sign you in: ${reason.slice(0, MAX_REASON_CHARS)}.`)
  }
  const { verifier, redirectUri, nonce } = attempt
  return {
    kind: 'accepted',
    attempt,
    exchange: { code, code_verifier: verifier, redirect_uri: redirectUri, nonce },
  }
}
