/**
 * @module client/master-error
 * Why a call to a master did not succeed, in a form to branch on. The status is turned back into a code; prose is shown
 * and never parsed.
 *
 * Beside the codes of the protocol there are those of calls that no master answered: UNREACHABLE (there was no
 * connection), BROKEN (it ended before the answer did), TIMED_OUT, and FOREIGN (something answered that is not a master:
 * a proxy's page, another service). UNAVAILABLE is every 503, and a proxy's 502 and 504.
 */
import { ERRORS, type ErrorCode, type FieldError } from '../protocol/index.ts'

type AnsweredCode = Exclude<ErrorCode, 'OVERLOADED' | 'QUEUE_FULL' | `STORAGE_${string}`>
export type MasterErrorCode = AnsweredCode | 'UNAVAILABLE' | 'UNREACHABLE' | 'BROKEN' | 'FOREIGN'

const BY_STATUS = new Map(
  Object.entries(ERRORS)
    .filter(([, { status }]) => status !== 503)
    .map(([code, { status }]) => [status as number, code as AnsweredCode]),
)
const GATEWAY_STATUSES: ReadonlySet<number> = new Set([502, 503, 504])
const RETRYABLE: ReadonlySet<MasterErrorCode> = new Set<MasterErrorCode>([
  'TIMED_OUT',
  'RATE_LIMITED',
  'UNAVAILABLE',
  'UNREACHABLE',
  'BROKEN',
])
/** Answers that say that nothing was done, and connections that never were. */
const NOT_DONE: ReadonlySet<MasterErrorCode> = new Set<MasterErrorCode>([
  'UNREACHABLE',
  ...[...BY_STATUS.values()].filter((code) => code !== 'TIMED_OUT'),
])

export interface MasterErrorFacts extends ErrorOptions {
  readonly status?: number | undefined
  readonly faults?: readonly FieldError[]
  readonly requestId?: string | undefined
  /** Milliseconds that the master asked to wait. */
  readonly retryAfterMs?: number | undefined
}

export class MasterError extends Error {
  override readonly name = 'MasterError'
  readonly code: MasterErrorCode
  /** HTTP status; undefined: there was no answer. */
  readonly status: number | undefined
  /** Every fault of a 422, else empty. */
  readonly faults: readonly FieldError[]
  /** Leads to the log of the master. */
  readonly requestId: string | undefined
  readonly retryAfterMs: number | undefined

  constructor(code: MasterErrorCode, message: string, facts: MasterErrorFacts = {}) {
    super(message, facts.cause === undefined ? {} : { cause: facts.cause })
    this.code = code
    this.status = facts.status
    this.faults = facts.faults ?? []
    this.requestId = facts.requestId
    this.retryAfterMs = facts.retryAfterMs
  }

  /** The same call, unchanged, may succeed later. Whether it may be sent again is another question, see `outcome`. */
  get retryable(): boolean {
    return RETRYABLE.has(this.code)
  }

  /** `unknown`: the call may have had its effect. Read again, then decide. */
  get outcome(): 'not_done' | 'unknown' {
    return NOT_DONE.has(this.code) ? 'not_done' : 'unknown'
  }
}

/** The code of an answer that is no success; FOREIGN for a status that no master answers with. */
export function codeOfStatus(status: number): MasterErrorCode {
  if (GATEWAY_STATUSES.has(status)) return 'UNAVAILABLE'
  return BY_STATUS.get(status) ?? (status >= 400 && status < 500 ? 'BAD_REQUEST' : 'FOREIGN')
}
