/**
 * @module operator/fleet/refusal
 * Converts the error of a call to the master into a refusal. Codes decide; messages are passed on and never parsed.
 */
import type { MasterError } from '../../client/index.ts'
import type { CallRefusal } from './ports.ts'

/** No response, or a master that cannot serve: every 429 and 5xx, with or without `Retry-After` (D67). */
export function isFailure({ code, status }: MasterError): boolean {
  return (
    status === undefined ||
    code === 'FOREIGN' ||
    code === 'UNAVAILABLE' ||
    code === 'TIMED_OUT' ||
    code === 'RATE_LIMITED'
  )
}

/** The master requests a lower rate. */
export function isThrottle({ code, status }: MasterError): boolean {
  return code === 'RATE_LIMITED' || (code === 'UNAVAILABLE' && status === 503)
}

/** @param isTypeKnown what a 404 refers to: the worker if true, else the type. */
export function refusalOf(error: MasterError, isTypeKnown: boolean): CallRefusal {
  const { code, faults, message, outcome, retryAfterMs } = error
  const effect = outcome === 'not_done' ? 'not_sent' : 'unknown'
  if (isThrottle(error)) return { kind: 'throttled', effect, retryAfterMs: retryAfterMs ?? 0 }
  if (isFailure(error)) return { kind: 'unavailable', effect, message }
  if (code === 'NOT_FOUND') return { kind: isTypeKnown ? 'not_registered' : 'unknown_type' }
  if (code === 'INVALID') return { kind: 'rejected', faults, message }
  if (code === 'TOO_LARGE') return { kind: 'too_large', message }
  if (code === 'STALE_GENERATION' || code === 'CLAIMED') return { kind: 'stale' }
  if (code === 'FORBIDDEN' || code === 'UNAUTHENTICATED') return { kind: 'forbidden', message }
  return { kind: 'bug', message }
}
