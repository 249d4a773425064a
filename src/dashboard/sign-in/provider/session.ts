/**
 * @module dashboard/sign-in/provider/session
 * The session of a user whom an identity provider signed in: when its token is renewed, and when the session ends.
 */
import type { SignedInBody } from '../../../protocol/index.ts'
import type { Provider } from './attempt.ts'

/** Stored beside the token as JSON. Times are those of the local clock. */
export interface Session {
  readonly provider: Provider
  /** null: the token cannot be renewed. */
  readonly refreshToken: string | null
  readonly renewAtMs: number
  readonly expiresAtMs: number
  /** When the user last pressed a key or a button. */
  readonly activeMs: number
}

const RENEW_AFTER = 0.8
const IDLE_MS = 12 * 3_600_000
export const IDLE_TEXT = 'You were signed out after 12 hours without input.'

/** @param before The session whose token was renewed; a provider that issues no other refresh token keeps it valid. */
export function sessionOf(
  { refresh_token: issued, expires_in: seconds }: SignedInBody,
  before: Pick<Session, 'provider' | 'refreshToken' | 'activeMs'>,
  nowMs: number,
): Session {
  return {
    provider: before.provider,
    refreshToken: issued ?? before.refreshToken,
    renewAtMs: nowMs + seconds * 1_000 * RENEW_AFTER,
    expiresAtMs: nowMs + seconds * 1_000,
    activeMs: before.activeMs,
  }
}

/** What is due. */
export function dueAt({ renewAtMs, activeMs }: Session, nowMs: number): 'nothing' | 'renewal' | 'end' {
  if (nowMs - activeMs >= IDLE_MS) return 'end'
  return nowMs >= renewAtMs ? 'renewal' : 'nothing'
}

/**
 * The address at the provider that ends the session there. It contains no token, because addresses end up in logs and
 * in the history of the browser.
 *
 * @returns null if the provider has none.
 */
export function endUrl({ end_session_endpoint: endpoint, client_id: clientId }: Provider, page: string): URL | null {
  if (endpoint === null) return null
  const url = new URL(endpoint)
  url.searchParams.set('client_id', clientId)
  url.searchParams.set('post_logout_redirect_uri', page)
  return url
}
