/**
 * @module dashboard/sign-in/sign-in
 * Asks for the token and checks it with `GET /api/v1/me`. Only an accepted token is stored.
 */
import { useId, useState, type SyntheticEvent } from 'react'
import { checkText, checkToken, isTokenText, type Me } from '../api/me.ts'
import { openApi } from '../api/session.ts'

export interface SignInProps {
  /** Why the user must sign in; null at the first visit. */
  readonly why: string | null
  readonly onAccepted: (token: string, me: Me, isTabOnly: boolean) => void
}

export function SignIn({ why, onAccepted }: SignInProps) {
  const [token, setToken] = useState('')
  const [shown, setShown] = useState(false)
  const [isKept, setKept] = useState(false)
  const [busy, setBusy] = useState(false)
  const [message, setMessage] = useState(why)
  const id = useId()

  const submit = async (): Promise<void> => {
    const text = token.trim()
    if (!isTokenText(text))
      return setMessage(
        text === ''
          ? 'Enter a token.'
          : 'A token contains no spaces or special characters. Check that you copied only the token.',
      )
    setBusy(true)
    setMessage(null)
    const check = await checkToken(openApi(text))
    setBusy(false)
    setMessage(checkText(check))
    if (check.kind === 'accepted') onAccepted(text, check.me, !isKept)
  }
  const onSubmit = (event: SyntheticEvent): void => {
    event.preventDefault()
    void submit()
  }
  return (
    <main className="sign-in">
      <h1>Muster</h1>
      <p className="soft">{location.host}</p>
      <form onSubmit={onSubmit}>
        <input type="text" autoComplete="username" value={location.host} readOnly hidden />
        <label htmlFor={id}>Token</label>
        <div className="row">
          <input
            id={id}
            type={shown ? 'text' : 'password'}
            autoComplete="current-password"
            spellCheck={false}
            autoCapitalize="off"
            value={token}
            onChange={(event) => setToken(event.target.value)}
            aria-describedby={`${id}-help`}
            aria-invalid={message !== null}
          />
          <button type="button" onClick={() => setShown(!shown)} aria-pressed={shown}>
            {shown ? 'Hide' : 'Show'}
          </button>
        </div>
        <p id={`${id}-help`} className="soft">
          Use an admin token or a token scoped to automation types. It is deleted when you sign out or, unless you stay
          signed in, when you close this tab.
        </p>
        <p className="keep">
          <label>
            <input type="checkbox" checked={isKept} onChange={(event) => setKept(event.target.checked)} /> Stay signed
            in on this browser
          </label>
        </p>
        <p role="alert" className={message === null ? '' : 'problem'}>
          {message}
        </p>
        <button type="submit" className="primary" disabled={busy}>
          {busy ? 'Checking…' : 'Sign in'}
        </button>
      </form>
    </main>
  )
}
