/**
 * @module client/master-error
 * Describes why a call to a master failed, by a code to branch on. The code is derived from the HTTP status; sentences
 * are shown and never parsed.
 *
 * Further codes describe calls without a response of a master: UNREACHABLE (no connection), BROKEN (the connection
 * ended before the response did), TIMED_OUT, and FOREIGN (the response came from something else, such as the page of a
 * proxy). UNAVAILABLE is every 503, and 502 and 504 of a proxy.
 */
import type { ErrorCode, ERRORS, FieldError } from '../protocol/plain.ts'

type Unavailable = 'ISSUER_UNAVAILABLE' | 'OVERLOADED' | 'QUEUE_FULL' | 'UPGRADING' | `STORAGE_${string}`
type ResponseCode = Exclude<ErrorCode, Unavailable>
/** Codes of a {@link MasterError}: those of the protocol, and those of calls without a response of a master. */
export type MasterErrorCode = ResponseCode | 'UNAVAILABLE' | 'UNREACHABLE' | 'BROKEN' | 'FOREIGN'

/** Written out, because the table of all errors would be a tenth of the published client. */
const BY_STATUS: { readonly [Code in ResponseCode as (typeof ERRORS)[Code]['status']]: Code } = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHENTICATED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_ALLOWED',
  408: 'TIMED_OUT',
  409: 'CLAIMED',
  412: 'STALE_GENERATION',
  413: 'TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  422: 'INVALID',
  429: 'RATE_LIMITED',
}
const GATEWAY_STATUSES: ReadonlySet<number> = new Set([502, 503, 504])
const RETRYABLE: ReadonlySet<MasterErrorCode> = new Set<MasterErrorCode>([
  'TIMED_OUT',
  'RATE_LIMITED',
  'UNAVAILABLE',
  'UNREACHABLE',
  'BROKEN',
])
/** After these a change may have been made. All others are responses of a master, or connections never established. */
const UNKNOWN: ReadonlySet<MasterErrorCode> = new Set<MasterErrorCode>([
  'TIMED_OUT',
  'UNAVAILABLE',
  'BROKEN',
  'FOREIGN',
])

/** What is known of a failed call, beside its code and message. */
export interface MasterErrorFacts extends ErrorOptions {
  readonly status?: number | undefined
  readonly faults?: readonly FieldError[]
  readonly requestId?: string | undefined
  /** Milliseconds that `Retry-After` requests, at most 30 s (D68). */
  readonly retryAfterMs?: number | undefined
  /** false if the request was never sent; true if omitted. */
  readonly isSent?: boolean
  /** Whether a live master of an older release does not know the call or a field of it; false if omitted. */
  readonly isUpgrading?: boolean | undefined
  /** Whether an earlier request of the same call may have been executed; false if omitted. */
  readonly isUnknown?: boolean
}

/**
 * A failed call. Check `code` for the reason, `isRetryable` for a later retry, and `outcome` before repeating a change.
 */
export class MasterError extends Error {
  override readonly name = 'MasterError'
  readonly code: MasterErrorCode
  /** HTTP status; undefined without a response. */
  readonly status: number | undefined
  /** Every fault of a 422, else empty. */
  readonly faults: readonly FieldError[]
  /** ID of the request in the log of the master. */
  readonly requestId: string | undefined
  /** Milliseconds that `Retry-After` requests, at most 30 s; undefined without one. */
  readonly retryAfterMs: number | undefined
  /** Whether a live master of an older release does not know the call or a field of it. */
  readonly isUpgrading: boolean
  readonly #facts: MasterErrorFacts

  /**
   * Creates the error of one call.
   * @param code Why it failed.
   * @param message One sentence for people.
   * @param facts What is known of the failure; nothing if omitted.
   */
  constructor(code: MasterErrorCode, message: string, facts: MasterErrorFacts = {}) {
    super(message, facts.cause === undefined ? {} : { cause: facts.cause })
    this.code = code
    this.#facts = facts
    this.status = facts.status
    this.faults = facts.faults ?? []
    this.requestId = facts.requestId
    this.retryAfterMs = facts.retryAfterMs
    this.isUpgrading = facts.isUpgrading ?? false
  }

  /** Returns whether the same call may succeed later. Check `outcome` for whether repeating it is safe. */
  get isRetryable(): boolean {
    return RETRYABLE.has(this.code)
  }

  /** Returns `unknown` if the call may have been executed: read the state again, then decide. */
  get outcome(): 'not_done' | 'unknown' {
    if (this.#facts.isUnknown === true) return 'unknown'
    const mayBeDone = this.#facts.isSent !== false && !this.isUpgrading && UNKNOWN.has(this.code)
    return mayBeDone ? 'unknown' : 'not_done'
  }

  /** Returns whether a request of the call may have reached the master. */
  get isSent(): boolean {
    return this.outcome === 'unknown' || (this.#facts.isSent !== false && this.code !== 'UNREACHABLE')
  }

  /** Returns the same error with the outcome `unknown`, for a call that was sent before without a response. */
  asUnknown(): MasterError {
    return new MasterError(this.code, this.message, { ...this.#facts, isUnknown: true, cause: this })
  }
}

/**
 * Returns the code of a failed response: FOREIGN for an HTTP status that a master never returns.
 * @param status HTTP status, 100 to 599.
 */
export function codeOfStatus(status: number): MasterErrorCode {
  if (GATEWAY_STATUSES.has(status)) return 'UNAVAILABLE'
  return (
    (BY_STATUS as Readonly<Record<number, ResponseCode>>)[status] ??
    (status >= 400 && status < 500 ? 'BAD_REQUEST' : 'FOREIGN')
  )
}
