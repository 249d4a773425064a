/**
 * @module dashboard/api/problem
 * Why a call did not succeed, in words. A call without an answer is unknown, never failed: it may have had its effect.
 */
import type { FieldError } from '../../protocol/index.ts'
import { cappedRetryAfterMs, parseRetryAfter } from '../../runtime/backoff/index.ts'

export class Problem extends Error {
  override readonly name = 'Problem'
  /** HTTP status; null: there was no answer. */
  readonly status: number | null
  /** The faults of a 422, else empty. */
  readonly faults: readonly FieldError[]
  readonly requestId: string | null
  /** What the master asked to wait; at most 30 s (D68). */
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

/** Any thrown value as a Problem, so that a mistake of ours is seen on the page as well. */
export function asProblem(error: unknown): Problem {
  return error instanceof Problem
    ? error
    : new Problem(`the page made a mistake: ${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
      })
}

/** The Problem of an answer that is not a success. */
export function problemOf(status: number, headers: Headers, body: unknown): Problem {
  const detail = typeof body === 'object' && body !== null ? (body as { detail?: unknown }).detail : undefined
  const faults = Array.isArray(detail) ? detail.filter(isFault) : []
  const sentence =
    typeof detail === 'string'
      ? detail
      : faults.length > 0
        ? faultsText(faults)
        : `the answer was ${status} without a reason`
  return new Problem(sentence, {
    status,
    faults,
    requestId: headers.get('muster-request-id'),
    retryAfterSeconds: retryAfterSecondsOf(headers),
  })
}

/** What `Retry-After` requests, at most 30 s (D68); null without the header. */
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
