/**
 * @module operator/kube/kube-error
 * Defines the error of a call to the API server. Status 0: no response arrived, so the call may or may not have taken
 * effect.
 */
import { cappedRetryAfterMs, parseRetryAfter, truncateError } from '../../runtime/index.ts'

export interface KubeErrorOptions extends ErrorOptions {
  /** What `Retry-After` requests, in milliseconds, not capped. */
  readonly requestedWaitMs?: number | undefined
}

export class KubeError extends Error {
  override readonly name = 'KubeError'
  /** The HTTP status; 0 without a response. */
  readonly status: number
  /**
   * The API's reason, such as `Conflict` or `Expired`, or an own one: `NoResponse`, `TooLarge`, `Idle`,
   * `UnreadableResponse`, `UnreadableLine`.
   */
  readonly reason: string
  /** How long `Retry-After` requests to wait, in milliseconds, not capped: for logs. */
  readonly requestedWaitMs: number | undefined

  constructor(status: number, reason: string, message: string, options: KubeErrorOptions = {}) {
    super(message, options)
    this.status = status
    this.reason = reason
    this.requestedWaitMs = options.requestedWaitMs
  }

  /** How long to wait because the server requested it, in milliseconds: at most 30 s, 0 without a request (D68). */
  get retryAfterMs(): number {
    return cappedRetryAfterMs(this.requestedWaitMs ?? 0)
  }
}

interface StatusBody {
  readonly reason?: unknown
  readonly message?: unknown
  readonly code?: unknown
  readonly details?: { readonly retryAfterSeconds?: unknown }
}

const MAX_MESSAGE_CHARS = 1_024

/** Converts a `Status` object of the API into an error. Any other body becomes an error by its HTTP status. */
export function errorOfStatus(status: number, body: unknown, retryAfter?: string): KubeError {
  const { reason, message, code, details } = (typeof body === 'object' && body !== null ? body : {}) as StatusBody
  const known = typeof code === 'number' && status === 200 ? code : status
  return new KubeError(
    known,
    typeof reason === 'string' && reason !== '' ? reason : `Status${known}`,
    typeof message === 'string' ? truncateError(message, MAX_MESSAGE_CHARS) : `the API server returned HTTP ${known}`,
    { requestedWaitMs: parseRetryAfter(retryAfter ?? String(details?.retryAfterSeconds), Number.NaN) },
  )
}

/** The wait that `Retry-After` requests, for a log line. It may be longer than the actual wait. */
export function requestedWait(error: unknown): { readonly requested_wait_ms?: number } {
  return error instanceof KubeError && error.requestedWaitMs !== undefined
    ? { requested_wait_ms: error.requestedWaitMs }
    : {}
}

/** Whether the version, or the continue token of a list, is too old to resume from. */
export const isExpired = (error: unknown): boolean =>
  error instanceof KubeError && (error.status === 410 || error.reason === 'Expired' || error.reason === 'Gone')
