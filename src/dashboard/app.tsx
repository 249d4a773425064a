/**
 * @module dashboard/app
 * Manages the session: shows the sign-in form or the signed-in dashboard.
 *
 *   code of a provider ──exchanged──▶ signed in, or signed out with the reason
 *   no token ────────────────────▶ signed out ──token accepted──▶ signed in ──sign out in any tab──▶ signed out
 *   stored token ──/me──▶ accepted ──────────────────────────────────▲ │
 *                    ├──▶ rejected ────▶ signed out, with the reason    │ 401 or 403, and /me rejects the token
 *                    └──▶ no response ─▶ retry or sign out              └──▶ sign-in form above the page, drafts kept
 */
import { lazy, Suspense, useCallback, useEffect, useMemo, useState } from 'react'
import { checkToken, endedText, type Me, type TokenCheck } from './api/me.ts'
import { createQueries } from './api/queries.ts'
import { openApi, SessionContext } from './api/session.ts'
import { forgetDrafts } from './config/draft-store.ts'
import { Shell } from './shell.tsx'
import { SignIn, type SignInProps } from './sign-in/sign-in.tsx'
import {
  onSignedOutElsewhere,
  removeToken,
  storedSession,
  storedToken,
  storeToken,
  takeResponse,
} from './sign-in/token-store.ts'
import { useTokenWatch } from './sign-in/use-token-watch.ts'
import { forgetSubmissions } from './tasks/submit-drafts.ts'

// If the code cannot be loaded, the page works without it, until its user signs in again.
const loadProvider = () => import('./sign-in/provider/provider.tsx')
const ReturnFromProvider = lazy(() =>
  loadProvider().then(
    (loaded) => ({ default: loaded.ReturnFromProvider }),
    () => ({ default: NotLoaded }),
  ),
)
const ProviderSession = lazy(() =>
  loadProvider().then(
    (loaded) => ({ default: loaded.ProviderSession }),
    () => ({ default: () => null }),
  ),
)

function NotLoaded({ onFailed }: { readonly onFailed: (why: string) => void }) {
  useEffect(() => onFailed('The master is not responding. Sign in again.'), [onFailed])
  return null
}

type Phase =
  | { readonly kind: 'returning'; readonly response: URLSearchParams }
  | { readonly kind: 'checking'; readonly token: string }
  | { readonly kind: 'unchecked'; readonly token: string; readonly why: string }
  | { readonly kind: 'signed_out'; readonly why: string | null }
  | { readonly kind: 'signed_in'; readonly token: string; readonly me: Me; readonly rejection: string | null }

/** Taken out of the address before anything is requested. */
const response = takeResponse()

function firstPhase(): Phase {
  if (response !== null) return { kind: 'returning', response }
  const token = storedToken()
  return token === null ? { kind: 'signed_out', why: null } : { kind: 'checking', token }
}

function phaseAfter(token: string, result: TokenCheck): Phase {
  if (result.kind === 'accepted') return { kind: 'signed_in', token, me: result.me, rejection: null }
  const why = endedText(result)
  return result.kind === 'no_response' ? { kind: 'unchecked', token, why: why ?? '' } : { kind: 'signed_out', why }
}

/** Checks the stored token. */
function useCheck(phase: Phase, setPhase: (phase: Phase) => void): void {
  useEffect(() => {
    if (phase.kind !== 'checking') return undefined
    const { token } = phase
    const stop = new AbortController()
    void checkToken(openApi(token), stop.signal).then((result) => {
      if (!stop.signal.aborted) setPhase(phaseAfter(token, result))
    })
    return () => stop.abort()
  }, [phase, setPhase])
}

export function App() {
  const [phase, setPhase] = useState(firstPhase)
  const accept = useCallback((token: string, me: Me, isTabOnly: boolean, session?: string): void => {
    storeToken(token, isTabOnly, session)
    setPhase({ kind: 'signed_in', token, me, rejection: null })
  }, [])
  const end = useCallback((why: string | null): void => {
    removeToken()
    forgetDrafts() // Drafts may contain secrets.
    forgetSubmissions()
    setPhase({ kind: 'signed_out', why })
  }, [])
  const signOut = useCallback((): void => {
    const session = storedSession()
    end(null)
    if (session !== null) void loadProvider().then(({ leaveProvider }) => leaveProvider(session))
  }, [end])
  useCheck(phase, setPhase)
  useEffect(() => onSignedOutElsewhere(signOut), [signOut])

  switch (phase.kind) {
    case 'returning':
      return (
        <Suspense>
          <Checking />
          <ReturnFromProvider
            response={phase.response}
            onSignedIn={accept}
            onFailed={(why) => setPhase({ kind: 'signed_out', why })}
          />
        </Suspense>
      )
    case 'checking':
      return <Checking />
    case 'unchecked':
      return (
        <Unchecked
          why={phase.why}
          onRetry={() => setPhase({ kind: 'checking', token: phase.token })}
          onSignOut={signOut}
        />
      )
    case 'signed_out':
      return <SignIn why={phase.why} onAccepted={accept} />
    case 'signed_in':
      return (
        <SignedIn
          token={phase.token}
          me={phase.me}
          rejection={phase.rejection}
          onAccepted={accept}
          onSignOut={signOut}
          onEnded={end}
          onRejected={(why) => setPhase((now) => (now.kind === 'signed_in' ? { ...now, rejection: why } : now))}
        />
      )
  }
}

const Checking = () => (
  <main className="sign-in">
    <h1>Muster</h1>
    <output>Checking the token…</output>
  </main>
)

function Unchecked({
  why,
  onRetry,
  onSignOut,
}: {
  readonly why: string
  readonly onRetry: () => void
  readonly onSignOut: () => void
}) {
  return (
    <main className="sign-in">
      <h1>Muster</h1>
      <p role="alert" className="problem">
        {why}
      </p>
      <div className="buttons">
        <button type="button" onClick={onSignOut}>
          Sign out
        </button>
        <button type="button" className="primary" onClick={onRetry}>
          Try again
        </button>
      </div>
    </main>
  )
}

interface SignedInProps {
  readonly token: string
  readonly me: Me
  readonly rejection: string | null
  readonly onAccepted: SignInProps['onAccepted']
  readonly onRejected: (why: string) => void
  readonly onSignOut: () => void
  readonly onEnded: (why: string) => void
}

/** Pages stay mounted while the user signs in again, so that drafts are not lost. */
function SignedIn({ token, me, rejection, onAccepted, onRejected, onSignOut, onEnded }: SignedInProps) {
  const watch = useTokenWatch(token, onRejected)
  const session = useMemo(
    () => ({ api: openApi(token, watch), me, suspended: rejection !== null }),
    [token, watch, me, rejection],
  )
  const [queries] = useState(createQueries)
  return (
    <SessionContext value={session}>
      <Suspense>{storedSession() !== null && <ProviderSession onRenewed={onAccepted} onEnded={onEnded} />}</Suspense>
      {rejection !== null && <SignIn why={rejection} onAccepted={onAccepted} />}
      <div hidden={rejection !== null}>
        <Shell queries={queries} onSignOut={onSignOut} />
      </div>
    </SessionContext>
  )
}
