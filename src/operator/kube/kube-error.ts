/**
 * @module operator/kube/kube-error
 * What a call to the API server failed with. Status 0: no answer came, so the call may or may not have had its effect.
 */
export interface KubeErrorOptions extends ErrorOptions {
  readonly retryAfterMs?: number
}

export class KubeError extends Error {
  override readonly name = 'KubeError'
  /** The HTTP status; 0 without an answer. */
  readonly status: number
  /** The API's word, such as `Conflict` or `Expired`; of ours: `NoAnswer`, `Idle`, `UnreadableAnswer`, `UnreadableLine`. */
  readonly reason: string
  /** How long the server asked to wait. */
  readonly retryAfterMs: number | undefined

  constructor(status: number, reason: string, message: string, options: KubeErrorOptions = {}) {
    super(message, options)
    this.status = status
    this.reason = reason
    this.retryAfterMs = options.retryAfterMs
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
  const seconds = Number(retryAfter ?? details?.retryAfterSeconds ?? Number.NaN) // A date is not used by the API server.
  const known = typeof code === 'number' && status === 200 ? code : status
  return new KubeError(
    known,
    typeof reason === 'string' && reason !== '' ? reason : `Status${known}`,
    typeof message === 'string' ? message.slice(0, MAX_MESSAGE_CHARS) : `the API server answered HTTP ${known}`,
    Number.isFinite(seconds) && seconds >= 0 ? { retryAfterMs: seconds * 1_000 } : {},
  )
}

/** The version, or the place in a list, is too old to go on from. */
export const isExpired = (error: unknown): boolean =>
  error instanceof KubeError && (error.status === 410 || error.reason === 'Expired' || error.reason === 'Gone')
