/**
 * @module dashboard/api/use-action
 * Runs one write at a time and tracks its outcome. Writes are never retried automatically.
 */
import { useState } from 'react'
import type { Api } from './client.ts'
import { asProblem, type Problem } from './problem.ts'
import { useSession } from './session.ts'

export interface Action<A extends readonly unknown[]> {
  readonly run: (...args: A) => Promise<void>
  readonly busy: boolean
  readonly problem: Problem | null
  readonly clear: () => void
}

export function useAction<A extends readonly unknown[]>(act: (api: Api, ...args: A) => Promise<void>): Action<A> {
  const { api } = useSession()
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<Problem | null>(null)
  const run = async (...args: A): Promise<void> => {
    if (busy) return
    setBusy(true)
    setProblem(null)
    try {
      await act(api, ...args)
    } catch (error) {
      setProblem(asProblem(error))
    } finally {
      setBusy(false)
    }
  }
  return { run, busy, problem, clear: () => setProblem(null) }
}
