/**
 * @module dashboard/sign-in/sign-in
 * Asks for the token, checks it with `GET /api/v1/me` and keeps it only when it may be used here.
 */
import { useId, useState, type SyntheticEvent } from 'react'
import { checkText, checkToken, isTokenText, type Me } from '../api/me.ts'
import { openApi } from '../api/session.ts'

export interface SignInProps {
  /** Why the person is asked; null at the first visit. */
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
          ? 'Paste a token first.'
          : 'A token has no spaces and no special characters. Check that it was copied alone.',
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
          An admin token, or one scoped to automation types. It is forgotten when you close this tab or sign out.
        </p>
        <p className="keep">
          <label>
            <input type="checkbox" checked={isKept} onChange={(event) => setKept(event.target.checked)} /> Keep it in
            this browser until I sign out
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
