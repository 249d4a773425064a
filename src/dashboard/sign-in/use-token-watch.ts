/**
 * @module dashboard/sign-in/use-token-watch
 * Checks the token with `/me` after a call returned 401 or 403. The user is asked for a new token only if `/me` rejects
 * the token too; otherwise the token merely lacks one permission. Concurrent checks are merged into one.
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
