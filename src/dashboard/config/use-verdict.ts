/**
 * @module dashboard/config/use-verdict
 * Validates a draft on the master when the user leaves a field (D49), with one request at a time. An error of a field
 * is shown only while that field's change equals the validated one.
 */
import { useRef, useState } from 'react'
import type { FieldError, JsonObject, ValidatedBody, WorkerBody } from '../../protocol/index.ts'
import { useSession } from '../api/session.ts'
import { sameJson } from '../components/json-text.ts'
import { stillTrue } from './verdict.ts'

interface Verdict {
  readonly patch: JsonObject
  readonly errors: readonly FieldError[]
}

export interface Judge {
  /** Validates a patch, unless it was already validated. */
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
      asked.current = {} // Ignored: the save reports errors as well.
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
