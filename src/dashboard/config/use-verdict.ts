/**
 * @module dashboard/config/use-verdict
 * What the master would say to a save (D49), asked when a person leaves a field: one call at a time, and what it said of a
 * field holds only while that field's change is the one it was asked about.
 */
import { useRef, useState } from 'react'
import type { FieldError, JsonObject, ValidatedBody, WorkerBody } from '../../protocol/index.ts'
import { useSession } from '../api/session.ts'
import { sameJson } from '../parts/json-text.ts'
import { stillTrue } from './verdict.ts'

interface Verdict {
  readonly patch: JsonObject
  readonly errors: readonly FieldError[]
}

export interface Judge {
  /** Asks about a patch, unless it was asked about already. */
  readonly ask: (patch: JsonObject) => void
  readonly verdictOf: (patch: JsonObject) => readonly FieldError[]
}

export function useVerdict({ automation_type: type, worker_id: id }: WorkerBody): Judge {
  const { api } = useSession()
  const [verdict, setVerdict] = useState<Verdict>({ patch: {}, errors: [] })
  const asked = useRef<JsonObject>({})
  const waiting = useRef<JsonObject | null>(null)
  const isBusy = useRef(false)

  const judge = async (patch: JsonObject): Promise<void> => {
    isBusy.current = true
    asked.current = patch
    try {
      const { body } = await api.send<ValidatedBody>(
        'POST',
        ['automations', type, 'workers', id, 'config', 'validate'],
        { body: patch },
      )
      setVerdict({ patch, errors: body.errors })
    } catch {
      asked.current = {} // The save itself will tell; a verdict is only a courtesy.
    } finally {
      isBusy.current = false
      const next = waiting.current
      waiting.current = null
      if (next !== null && !sameJson(next, asked.current)) void judge(next)
    }
  }
  return {
    ask: (patch) => {
      if (Object.keys(patch).length === 0 || sameJson(patch, asked.current)) return
      if (isBusy.current) waiting.current = patch
      else void judge(patch)
    },
    verdictOf: (patch) => stillTrue(verdict.errors, verdict.patch, patch),
  }
}
