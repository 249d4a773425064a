/** @module dashboard/config/use-save  Saves a draft with PATCH and tracks it until the worker applies it. */
import { useState } from 'react'
import type { ConfigBody, FieldError, JsonObject, WorkerBody } from '../../protocol/index.ts'
import { asProblem, type Problem } from '../api/problem.ts'
import { useSession } from '../api/session.ts'
import { baseOf, ifMatchOf, type Base } from './saving.ts'

interface Saved {
  readonly base: Base
  readonly atMs: number
  /** Time until the worker applied the config; null if it has not yet. */
  readonly appliedMs: number | null
}

export interface Save {
  readonly run: (base: Base, patch: JsonObject) => Promise<void>
  readonly busy: boolean
  /** The last successful save; null if there is none. */
  readonly saved: Saved | null
  /** Why the latest save failed. */
  readonly problem: Problem | null
  /** The field errors of the latest save. */
  readonly faults: readonly FieldError[]
  readonly clear: () => void
}

export interface SaveDeps {
  readonly worker: WorkerBody
  /** When the worker was read, in local milliseconds. */
  readonly readAtMs: number
  readonly refresh: () => void
  readonly onSaved: () => void
}

export function useSave({ worker, readAtMs, refresh, onSaved }: SaveDeps): Save {
  const { api } = useSession()
  const [busy, setBusy] = useState(false)
  const [saved, setSaved] = useState<Saved | null>(null)
  const [problem, setProblem] = useState<Problem | null>(null)
  if (saved !== null && saved.appliedMs === null && (worker.applied_config_gen ?? -1) >= saved.base.gen)
    setSaved({ ...saved, appliedMs: Math.max(0, readAtMs - saved.atMs) })

  const run = async (base: Base, patch: JsonObject): Promise<void> => {
    if (busy) return
    const mark = ifMatchOf(base)
    setBusy(true)
    setProblem(null)
    try {
      const { body, epoch } = await api.send<ConfigBody>(
        'PATCH',
        ['automations', worker.automation_type, 'workers', worker.worker_id, 'config'],
        { body: patch, headers: mark === null ? {} : { 'if-match': mark } },
      )
      setSaved({ base: baseOf(body, epoch), atMs: Date.now(), appliedMs: null })
      onSaved()
    } catch (error) {
      setProblem(asProblem(error))
    } finally {
      setBusy(false)
      refresh() // Also after a failure: a conflict or a lost response shows in the worker's config.
    }
  }
  return { run, busy, saved, problem, faults: problem?.faults ?? [], clear: () => setProblem(null) }
}
