/**
 * @module dashboard/api/problem
 * Describes why a call did not succeed. A call without a response is unknown, not failed: it may have taken effect.
 */
import type { FieldError } from '../../protocol/index.ts'
import { cappedRetryAfterMs, parseRetryAfter } from '../../runtime/backoff/index.ts'

export class Problem extends Error {
  override readonly name = 'Problem'
  /** HTTP status; null if there was no response. */
  readonly status: number | null
  /** The field errors of a 422 response; otherwise empty. */
  readonly faults: readonly FieldError[]
  readonly requestId: string | null
  /** The `Retry-After` of the response, at most 30 s (D68). */
  readonly retryAfterSeconds: number | null

  constructor(
    message: string,
    of: {
      status?: number
      faults?: readonly FieldError[]
      requestId?: string | null
      retryAfterSeconds?: number | null
      cause?: unknown
    } = {},
  ) {
    super(message, { cause: of.cause })
    this.status = of.status ?? null
    this.faults = of.faults ?? []
    this.requestId = of.requestId ?? null
    this.retryAfterSeconds = of.retryAfterSeconds ?? null
  }
}

export const isProblem = (error: unknown, status: number): error is Problem =>
  error instanceof Problem && error.status === status

/** Converts any thrown value to a Problem, so that bugs of the dashboard are shown to the user as well. */
export function asProblem(error: unknown): Problem {
  return error instanceof Problem
    ? error
    : new Problem(`unexpected error in the dashboard: ${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
      })
}

/** Creates the Problem for an error response. */
export function problemOf(status: number, headers: Headers, body: unknown): Problem {
  const detail = typeof body === 'object' && body !== null ? (body as { detail?: unknown }).detail : undefined
  const faults = Array.isArray(detail) ? detail.filter(isFault) : []
  return new Problem(sentenceOf(status, detail, faults), {
    status,
    faults,
    requestId: headers.get('muster-request-id'),
    retryAfterSeconds: retryAfterSecondsOf(headers),
  })
}

function sentenceOf(status: number, detail: unknown, faults: readonly FieldError[]): string {
  if (typeof detail === 'string') return detail
  if (faults.length > 0) return faultsText(faults)
  return `the master returned status ${status} without details`
}

/** The value of `Retry-After` in seconds, at most 30 (D68); null without the header. */
export function retryAfterSecondsOf(headers: Headers): number | null {
  const requestedMs = parseRetryAfter(headers.get('retry-after'), Date.now())
  return requestedMs === undefined ? null : cappedRetryAfterMs(requestedMs) / 1_000
}

function isFault(value: unknown): value is FieldError {
  if (typeof value !== 'object' || value === null) return false
  const { path, message } = value as Partial<FieldError>
  return typeof path === 'string' && typeof message === 'string'
}

const faultsText = (faults: readonly FieldError[]): string =>
  faults.map(({ path, message }) => `${path === '' ? 'the value' : path} ${message}`).join('; ')
