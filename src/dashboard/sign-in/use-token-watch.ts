/**
 * @module dashboard/sign-in/use-token-watch
 * Checks the token with `/me` after a call returned 401 or 403. The user is asked for a new token only if `/me` rejects
 * the token too; otherwise the token merely lacks one permission. Concurrent checks are merged into one.
 */
import { useCallback, useEffect, useRef } from 'react'
import { checkToken, endedText } from '../api/me.ts'
import { openApi } from '../api/session.ts'

export function useTokenWatch(token: string, onRejected: (why: string) => void): () => void {
  const isChecking = useRef(false)
  const latest = useRef(onRejected)
  useEffect(() => {
    latest.current = onRejected
  })
  return useCallback(() => {
    if (isChecking.current) return
    isChecking.current = true
    void checkToken(openApi(token)).then((check) => {
      isChecking.current = false
      if (check.kind === 'rejected' || check.kind === 'worker') latest.current(endedText(check) ?? '')
    })
  }, [token])
}
