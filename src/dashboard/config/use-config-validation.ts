/**
 * @module dashboard/config/use-config-validation
 * Validates a draft on the master when the user leaves a field (D49), with one request at a time. An error of a field
 * is shown only while that field's change equals the validated one.
 */
import { useRef, useState } from 'react'
import type { FieldError, JsonObject, ValidatedBody, WorkerBody } from '../../protocol/index.ts'
import { useSession } from '../api/session.ts'
import { sameJson } from '../components/json-text.ts'
import { applicableErrors } from './validation.ts'

interface Validation {
  readonly patch: JsonObject
  readonly errors: readonly FieldError[]
}

export interface ConfigValidation {
  /** Validates a patch, unless it was already validated. */
  readonly request: (patch: JsonObject) => void
  /** The errors of the latest validation that apply to this patch. */
  readonly faultsOf: (patch: JsonObject) => readonly FieldError[]
}

export function useConfigValidation({ automation_type: type, worker_id: id }: WorkerBody): ConfigValidation {
  const { api } = useSession()
  const [latest, setLatest] = useState<Validation>({ patch: {}, errors: [] })
  const requested = useRef<JsonObject>({})
  const waiting = useRef<JsonObject | null>(null)
  const isBusy = useRef(false)

  const validate = async (patch: JsonObject): Promise<void> => {
    isBusy.current = true
    requested.current = patch
    try {
      const { body } = await api.send<ValidatedBody>(
        'POST',
        ['automations', type, 'workers', id, 'config', 'validate'],
        { body: patch },
      )
      setLatest({ patch, errors: body.errors })
    } catch {
      requested.current = {} // Ignored: the save reports errors as well.
    } finally {
      isBusy.current = false
      const next = waiting.current
      waiting.current = null
      if (next !== null && !sameJson(next, requested.current)) void validate(next)
    }
  }
  return {
    request: (patch) => {
      if (Object.keys(patch).length === 0 || sameJson(patch, requested.current)) return
      if (isBusy.current) waiting.current = patch
      else void validate(patch)
    },
    faultsOf: (patch) => applicableErrors(latest.errors, latest.patch, patch),
  }
}
