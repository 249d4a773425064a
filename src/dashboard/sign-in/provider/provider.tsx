/**
 * @module dashboard/sign-in/provider/provider
 * Signs users in by the identity provider of the master. Loaded on the sign-in page and in sessions of a provider.
 *
 *   ProviderButton ──user──▶ provider ──code──▶ ReturnFromProvider ──▶ ProviderSession (renews, ends)
 */
import { useEffect, useState } from 'react'
import type { SignedInBody, SignInBody, SignInExchange } from '../../../protocol/index.ts'
import { checkText, checkToken, type Me } from '../../api/me.ts'
import { asProblem } from '../../api/problem.ts'
import { openApi } from '../../api/session.ts'
import { ATTEMPT_KEY, storedSession, storeSession } from '../token-store.ts'
import { authorizationUrl, checkResponse, newAttempt, type Provider } from './attempt.ts'
import { dueAt, endUrl, IDLE_TEXT, sessionOf, type Session } from './session.ts'

export type OnSignedIn = (token: string, me: Me, isTabOnly: boolean, session: string) => void

/** The address of the dashboard, to which the provider sends its users back. */
const page = (): string => new URL('.', document.baseURI).href

async function leaveFor(provider: Provider): Promise<void> {
  const attempt = newAttempt(provider, page(), location.hash)
  sessionStorage.setItem(ATTEMPT_KEY, JSON.stringify(attempt))
  location.assign(await authorizationUrl(attempt))
}

type Exchanged =
  | { readonly kind: 'signed_in'; readonly token: string; readonly me: Me; readonly session: Session }
  | { readonly kind: 'failed'; readonly why: string; readonly isFinal: boolean }

async function exchanged(
  exchange: SignInExchange,
  before: Pick<Session, 'provider' | 'refreshToken' | 'activeMs'>,
): Promise<Exchanged> {
  try {
    const { body } = await openApi('').send<SignedInBody>('POST', ['sign-in', 'token'], { body: exchange })
    const check = await checkToken(openApi(body.id_token))
    if (check.kind !== 'accepted') return { kind: 'failed', why: checkText(check) ?? '', isFinal: false }
    return { kind: 'signed_in', token: body.id_token, me: check.me, session: sessionOf(body, before, Date.now()) }
  } catch (error) {
    const { message, status } = asProblem(error)
    return { kind: 'failed', why: `${message}.`, isFinal: status === 403 }
  }
}

const PROVIDER_UNAVAILABLE = 503

/** A button, if the master has an identity provider. */
export function ProviderButton() {
  const [provider, setProvider] = useState<Provider | null>(null)
  const [why, setWhy] = useState<string | null>(null)
  useEffect(() => {
    const stop = new AbortController()
    openApi('')
      .get<SignInBody>(['sign-in'], {}, stop.signal)
      .then(
        ({ body }) => setProvider(body.provider),
        (error: unknown) => {
          const { status, message } = asProblem(error)
          if (status === PROVIDER_UNAVAILABLE) setWhy(`${message}.`)
        },
      )
    return () => stop.abort()
  }, [])
  if (why !== null) return <p className="soft">{why}</p>
  if (provider === null) return null
  if (!isSecureContext) return <p className="soft">Signing in with {provider.name} needs HTTPS.</p>
  return (
    <p>
      <button type="button" className="primary" onClick={() => void leaveFor(provider)}>
        Continue with {provider.name}
      </button>
    </p>
  )
}

export interface ReturnProps {
  readonly response: URLSearchParams
  readonly onSignedIn: OnSignedIn
  readonly onFailed: (why: string) => void
}

/** Exchanges the code that the provider sent in the address. */
export function ReturnFromProvider({ response, onSignedIn, onFailed }: ReturnProps) {
  useEffect(() => {
    const text = sessionStorage.getItem(ATTEMPT_KEY)
    sessionStorage.removeItem(ATTEMPT_KEY) // A code is used once.
    const checked = checkResponse(response, text)
    if (checked.kind === 'refused') return onFailed(checked.why)
    const { attempt, exchange } = checked
    history.replaceState(null, '', location.pathname + attempt.hash)
    const before = { provider: attempt.provider, refreshToken: null, activeMs: Date.now() }
    void exchanged(exchange, before).then((result) => {
      if (result.kind === 'failed') onFailed(result.why)
      else onSignedIn(result.token, result.me, true, JSON.stringify(result.session))
    })
    return undefined
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- The response is used once.
  }, [response])
  return null
}

const LOOK_EVERY_MS = 1_000
const RETRY_MS = 10_000
/** How exactly the time of the last input is stored. */
const ACTIVE_STEP_MS = 10_000

const sessionNow = (): Session | null => {
  const text = storedSession()
  return text === null ? null : (JSON.parse(text) as Session)
}

function noteInput(): void {
  const session = sessionNow()
  const activeMs = Date.now()
  if (session !== null && activeMs - session.activeMs > ACTIVE_STEP_MS && dueAt(session, activeMs) !== 'end')
    storeSession(JSON.stringify({ ...session, activeMs }))
}

export interface ProviderSessionProps {
  readonly onRenewed: OnSignedIn
  readonly onEnded: (why: string) => void
}

/** Renews the token, and ends the session when there is no input. Shows a bar if the renewal fails. */
export function ProviderSession({ onRenewed, onEnded }: ProviderSessionProps) {
  const [why, setWhy] = useState<string | null>(null)
  useEffect(() => {
    let retryAtMs = 0
    const look = (): void => {
      const session = sessionNow()
      const due = session === null ? 'nothing' : dueAt(session, Date.now())
      if (due === 'end') return onEnded(IDLE_TEXT)
      if (session === null || due === 'nothing' || Date.now() < retryAtMs) return
      retryAtMs = Infinity // Until the result is known.
      void renewed(session).then((result) => {
        if (result.kind === 'signed_in') onRenewed(result.token, result.me, true, JSON.stringify(result.session))
        else setWhy(result.why)
        retryAtMs = result.kind === 'failed' && result.isFinal ? Infinity : Date.now() + RETRY_MS
        if (result.kind === 'signed_in') setWhy(null)
      })
    }
    const timer = setInterval(look, LOOK_EVERY_MS)
    for (const input of ['pointerdown', 'keydown']) addEventListener(input, noteInput)
    return () => {
      clearInterval(timer)
      for (const input of ['pointerdown', 'keydown']) removeEventListener(input, noteInput)
    }
  }, [onRenewed, onEnded])
  const session = why === null ? null : sessionNow()
  if (session === null) return null
  const until = new Date(session.expiresAtMs).toLocaleTimeString()
  return (
    <p className="notice" role="alert">
      Your sign-in ends at {until} and was not renewed: {why} Drafts are kept.{' '}
      <button type="button" onClick={() => void leaveFor(session.provider)}>
        Sign in again
      </button>
    </p>
  )
}

/** The input during the renewal counts. */
async function renewed(session: Session): Promise<Exchanged> {
  const { refreshToken } = session
  if (refreshToken === null) return { kind: 'failed', why: 'the identity provider permits no renewal.', isFinal: true }
  const result = await exchanged({ refresh_token: refreshToken }, session)
  if (result.kind === 'failed') return result
  const activeMs = sessionNow()?.activeMs ?? session.activeMs
  return { ...result, session: { ...result.session, activeMs } }
}

/** Ends the session at the provider as well, which takes the user there. @param text The session that was stored. */
export function leaveProvider(text: string): void {
  const url = endUrl((JSON.parse(text) as Session).provider, page())
  if (url !== null) location.assign(url)
}
