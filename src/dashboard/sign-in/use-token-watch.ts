/**
 * @module dashboard/sign-in/use-token-watch
 * A call was refused with 401 or 403: either the token ended, or it may not do that one thing. `/me` tells which; only
 * the first asks for a new token. Refusals that come together are one question.
 */
import { useCallback, useEffect, useRef } from 'react'
import { checkText, checkToken } from '../api/me.ts'
import { openApi } from '../api/session.ts'

export function useTokenWatch(token: string, onRefused: (why: string) => void): () => void {
  const asking = useRef(false)
  const tell = useRef(onRefused)
  useEffect(() => {
    tell.current = onRefused
  })
  return useCallback(() => {
    if (asking.current) return
    asking.current = true
    void checkToken(openApi(token)).then((check) => {
      asking.current = false
      if (check.kind === 'not_accepted' || check.kind === 'worker') tell.current(checkText(check) ?? '')
    })
  }, [token])
}
