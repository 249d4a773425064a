/** @module dashboard/config/use-save  The PATCH of a form, and what became of it. */
import { useState } from 'react'
import type { ConfigBody, WorkerBody } from '../../protocol/index.ts'
import { asProblem, type Problem } from '../api/problem.ts'
import { useSession } from '../api/session.ts'
import { faultsByField, patchOf, type Change } from './draft.ts'
import type { Field } from './fields.ts'
import { baseOf, ifMatchOf, type Base } from './saving.ts'

export interface Save {
  readonly run: (base: Base, changes: readonly Change[]) => Promise<void>
  readonly busy: boolean
  /** The config of the last success; null before. */
  readonly saved: Base | null
  /** Why the newest try did not succeed. */
  readonly problem: Problem | null
  /** The master's faults by field name; those of no field under ''. */
  readonly faults: ReadonlyMap<string, string>
  /** The field was edited: its fault is of the past. */
  readonly forget: (name: string) => void
}

export interface SaveParts {
  readonly worker: WorkerBody
  readonly fields: readonly Field[]
  readonly refresh: () => void
  readonly onSaved: () => void
}

const NO_FAULTS: ReadonlyMap<string, string> = new Map()

export function useSave({ worker, fields, refresh, onSaved }: SaveParts): Save {
  const { api } = useSession()
  const [busy, setBusy] = useState(false)
  const [saved, setSaved] = useState<Base | null>(null)
  const [problem, setProblem] = useState<Problem | null>(null)
  const [faults, setFaults] = useState(NO_FAULTS)

  const run = async (base: Base, changes: readonly Change[]): Promise<void> => {
    const mark = ifMatchOf(base)
    setBusy(true)
    setProblem(null)
    setFaults(NO_FAULTS)
    try {
      const { body, epoch } = await api.send<ConfigBody>('PATCH', ['automations', worker.automation_type, 'workers', worker.worker_id, 'config'], {
        body: patchOf(changes), headers: { 'muster-actor': 'dashboard', ...(mark === null ? {} : { 'if-match': mark }) },
      })
      setSaved(baseOf(body, epoch))
      onSaved()
    } catch (error) {
      const failed = asProblem(error)
      setProblem(failed)
      setFaults(faultsByField(failed.faults, fields))
    } finally {
      setBusy(false)
      refresh() // Also after a failure: a conflict, or a lost answer, is seen in the record.
    }
  }
  const forget = (name: string): void => setFaults((now) => (now.has(name) ? new Map([...now].filter(([each]) => each !== name)) : now))
  return { run, busy, saved, problem, faults, forget }
}
