/**
 * @module operator/kube/kube-error
 * What a call to the API server failed with. Status 0: no answer came, so the call may or may not have had its effect.
 */
import { cappedRetryAfterMs, parseRetryAfter } from '../../runtime/index.ts'

export interface KubeErrorOptions extends ErrorOptions {
  /** What `Retry-After` requests, in milliseconds, not capped. */
  readonly requestedWaitMs?: number | undefined
}

export class KubeError extends Error {
  override readonly name = 'KubeError'
  /** The HTTP status; 0 without an answer. */
  readonly status: number
  /** The API's word, such as `Conflict` or `Expired`; of ours: `NoAnswer`, `TooLarge`, `Idle`, `UnreadableAnswer`, `UnreadableLine`. */
  readonly reason: string
  /** How long `Retry-After` requests to wait, in milliseconds, not capped: for logs. */
  readonly requestedWaitMs: number | undefined

  constructor(status: number, reason: string, message: string, options: KubeErrorOptions = {}) {
    super(message, options)
    this.status = status
    this.reason = reason
    this.requestedWaitMs = options.requestedWaitMs
  }

  /** How long to wait because the server requested it: at most 30 s, 0 without a request (D68). */
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

/** The error that a `Status` object of the API stands for; anything else than one becomes an error by its HTTP status. */
export function errorOfStatus(status: number, body: unknown, retryAfter?: string): KubeError {
  const { reason, message, code, details } = (typeof body === 'object' && body !== null ? body : {}) as StatusBody
  const known = typeof code === 'number' && status === 200 ? code : status
  return new KubeError(
    known,
    typeof reason === 'string' && reason !== '' ? reason : `Status${known}`,
    typeof message === 'string' ? message.slice(0, MAX_MESSAGE_CHARS) : `the API server returned HTTP ${known}`,
    { requestedWaitMs: parseRetryAfter(retryAfter ?? String(details?.retryAfterSeconds), Number.NaN) },
  )
}

/** For a log line: what `Retry-After` requests, which may be longer than what is waited. */
export function requestedWait(error: unknown): { readonly requested_wait_ms?: number } {
  return error instanceof KubeError && error.requestedWaitMs !== undefined
    ? { requested_wait_ms: error.requestedWaitMs }
    : {}
}

/** The version, or the place in a list, is too old to go on from. */
export const isExpired = (error: unknown): boolean =>
  error instanceof KubeError && (error.status === 410 || error.reason === 'Expired' || error.reason === 'Gone')
