/** @module dashboard/api/use-act  One write at a time, and what became of it. A write is never repeated by itself. */
import { useState } from 'react'
import type { Api } from './client.ts'
import { asProblem, type Problem } from './problem.ts'
import { useSession } from './session.ts'

export interface Act<A extends readonly unknown[]> {
  readonly run: (...args: A) => Promise<void>
  readonly busy: boolean
  readonly problem: Problem | null
  readonly clear: () => void
}

export function useAct<A extends readonly unknown[]>(act: (api: Api, ...args: A) => Promise<void>): Act<A> {
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
