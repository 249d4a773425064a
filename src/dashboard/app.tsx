/**
 * @module dashboard/app
 * Manages the session: shows the sign-in form or the signed-in dashboard.
 *
 *   no token ────────────────────▶ signed out ──token accepted──▶ signed in ──sign out in any tab──▶ signed out
 *   stored token ──/me──▶ accepted ──────────────────────────────────▲ │
 *                    ├──▶ rejected ────▶ signed out, with the reason    │ 401 or 403, and /me rejects the token
 *                    └──▶ no response ─▶ retry or sign out              └──▶ sign-in form above the page, drafts kept
 */
import { useCallback, useEffect, useMemo, useState } from 'react'
import { checkToken, endedText, type Me, type TokenCheck } from './api/me.ts'
import { createQueries } from './api/queries.ts'
import { openApi, SessionContext } from './api/session.ts'
import { forgetDrafts } from './config/draft-store.ts'
import { Shell } from './shell.tsx'
import { SignIn, type SignInProps } from './sign-in/sign-in.tsx'
import { onSignedOutElsewhere, removeToken, storedToken, storeToken } from './sign-in/token-store.ts'
import { useTokenWatch } from './sign-in/use-token-watch.ts'
import { forgetSubmissions } from './tasks/submit-drafts.ts'

type Phase =
  | { readonly kind: 'checking'; readonly token: string }
  | { readonly kind: 'unchecked'; readonly token: string; readonly why: string }
  | { readonly kind: 'signed_out'; readonly why: string | null }
  | { readonly kind: 'signed_in'; readonly token: string; readonly me: Me; readonly rejection: string | null }

function firstPhase(): Phase {
  const token = storedToken()
  return token === null ? { kind: 'signed_out', why: null } : { kind: 'checking', token }
}

function phaseAfter(token: string, result: TokenCheck): Phase {
  if (result.kind === 'accepted') return { kind: 'signed_in', token, me: result.me, rejection: null }
  const why = endedText(result)
  return result.kind === 'no_response' ? { kind: 'unchecked', token, why: why ?? '' } : { kind: 'signed_out', why }
}

export function App() {
  const [phase, setPhase] = useState(firstPhase)
  const accept = useCallback((token: string, me: Me, isTabOnly: boolean): void => {
    storeToken(token, isTabOnly)
    setPhase({ kind: 'signed_in', token, me, rejection: null })
  }, [])
  const signOut = useCallback((): void => {
    removeToken()
    forgetDrafts() // Drafts may contain secrets.
    forgetSubmissions()
    setPhase({ kind: 'signed_out', why: null })
  }, [])
  useEffect(() => {
    if (phase.kind !== 'checking') return undefined
    const { token } = phase
    const stop = new AbortController()
    void checkToken(openApi(token), stop.signal).then((result) => {
      if (!stop.signal.aborted) setPhase(phaseAfter(token, result))
    })
    return () => stop.abort()
  }, [phase])
  useEffect(() => onSignedOutElsewhere(signOut), [signOut])

  switch (phase.kind) {
    case 'checking':
      return (
        <main className="sign-in">
          <h1>Muster</h1>
          <output>Checking the token…</output>
        </main>
      )
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
          onRejected={(why) => setPhase((now) => (now.kind === 'signed_in' ? { ...now, rejection: why } : now))}
        />
      )
  }
}

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
}

/** Pages stay mounted while the user signs in again, so that drafts are not lost. */
function SignedIn({ token, me, rejection, onAccepted, onRejected, onSignOut }: SignedInProps) {
  const watch = useTokenWatch(token, onRejected)
  const session = useMemo(
    () => ({ api: openApi(token, watch), me, suspended: rejection !== null }),
    [token, watch, me, rejection],
  )
  const [queries] = useState(createQueries)
  return (
    <SessionContext value={session}>
      {rejection !== null && <SignIn why={rejection} onAccepted={onAccepted} />}
      <div hidden={rejection !== null}>
        <Shell queries={queries} onSignOut={onSignOut} />
      </div>
    </SessionContext>
  )
}
