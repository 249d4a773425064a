/**
 * @module dashboard/sign-in/sign-in
 * Asks for the token and checks it with `GET /api/v1/me`. Only an accepted token is stored.
 */
import { lazy, Suspense, useId, useState, type SyntheticEvent } from 'react'
import { checkText, checkToken, isTokenText, type Me } from '../api/me.ts'
import { openApi } from '../api/session.ts'

const ProviderButton = lazy(() =>
  import('./provider/provider.tsx').then(
    ({ ProviderButton: Loaded }) => ({ default: Loaded }),
    () => ({ default: () => null }),
  ),
)

export interface SignInProps {
  /** Why the user must sign in; null at the first visit. */
  readonly why: string | null
  /** @param session Of a token of an identity provider. */
  readonly onAccepted: (token: string, me: Me, isTabOnly: boolean, session?: string) => void
}

export function SignIn({ why, onAccepted }: SignInProps) {
  const [token, setToken] = useState('')
  const [isKept, setKept] = useState(false)
  const { check, isBusy, message } = useTokenCheck(why, (text, me) => onAccepted(text, me, !isKept))
  const onSubmit = (event: SyntheticEvent): void => {
    event.preventDefault()
    void check(token.trim())
  }
  return (
    <main className="sign-in">
      <h1>Muster</h1>
      <p className="soft">{location.host}</p>
      <Suspense>
        <ProviderButton />
      </Suspense>
      <form onSubmit={onSubmit}>
        <input type="text" autoComplete="username" value={location.host} readOnly hidden />
        <TokenInput value={token} isInvalid={message !== null && message !== why} onChange={setToken} />
        <p className="keep">
          <label>
            <input type="checkbox" checked={isKept} onChange={(event) => setKept(event.target.checked)} /> Stay signed
            in on this browser
          </label>
        </p>
        <p role="alert" className={message === null ? '' : 'problem'}>
          {message}
        </p>
        <button type="submit" className="primary" disabled={isBusy}>
          {isBusy ? 'Checking…' : 'Sign in'}
        </button>
      </form>
    </main>
  )
}

interface TokenChecking {
  readonly check: (token: string) => Promise<void>
  readonly isBusy: boolean
  /** Why the token cannot be used; null if there is no error. */
  readonly message: string | null
}

function useTokenCheck(why: string | null, onAccepted: (token: string, me: Me) => void): TokenChecking {
  const [isBusy, setBusy] = useState(false)
  const [message, setMessage] = useState(why)
  const check = async (token: string): Promise<void> => {
    if (token === '') return setMessage('Enter a token.')
    if (!isTokenText(token))
      return setMessage('A token contains no spaces or special characters. Check that you copied only the token.')
    setBusy(true)
    setMessage(null)
    const result = await checkToken(openApi(token))
    setBusy(false)
    setMessage(checkText(result))
    if (result.kind === 'accepted') onAccepted(token, result.me)
  }
  return { check, isBusy, message }
}

interface TokenInputProps {
  readonly value: string
  readonly isInvalid: boolean
  readonly onChange: (value: string) => void
}

function TokenInput({ value, isInvalid, onChange }: TokenInputProps) {
  const [isVisible, setVisible] = useState(false)
  const id = useId()
  return (
    <>
      <label htmlFor={id}>Token</label>
      <div className="row">
        <input
          id={id}
          type={isVisible ? 'text' : 'password'}
          autoComplete="current-password"
          spellCheck={false}
          autoCapitalize="off"
          value={value}
          onChange={(event) => onChange(event.target.value)}
          aria-describedby={`${id}-help`}
          aria-invalid={isInvalid}
        />
        <button type="button" onClick={() => setVisible(!isVisible)} aria-pressed={isVisible}>
          {isVisible ? 'Hide' : 'Show'}
        </button>
      </div>
      <p id={`${id}-help`} className="soft">
        Use an admin token or a token scoped to automation types. It is deleted when you sign out or, unless you stay
        signed in, when you close this tab.
      </p>
    </>
  )
}
