/**
 * @module client/published/muster-error
 * The error of every failed call of the published client. Branch on `code`, and check `outcome` before repeating a
 * change.
 */
import type { FieldError } from '../../protocol/plain.ts'
import { MasterError, type MasterErrorCode } from '../master-error.ts'

/** One fault of a value that the master rejected. */
export interface Fault {
  /** JSON pointer to the value, such as `/payload/name`; '' for the whole. */
  readonly field: string
  /** What is expected, as a sentence without the field. */
  readonly problem: string
}

/** The codes of a {@link MusterError}. */
export type MusterErrorCode =
  | 'BAD_REQUEST'
  | 'UNAUTHENTICATED'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'TIMED_OUT'
  | 'CLAIMED'
  | 'STALE_GENERATION'
  | 'TOO_LARGE'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'INVALID'
  | 'RATE_LIMITED'
  | 'UNAVAILABLE'
  | 'UNREACHABLE'
  | 'BROKEN'
  | 'FOREIGN'

/** What is known of a failed call, beside its code and message. */
export interface MusterErrorFacts {
  readonly outcome: MusterError['outcome']
  readonly retryable: boolean
  readonly requestId?: string | undefined
  readonly faults?: readonly Fault[] | undefined
  readonly cause?: unknown
}

/** A failed call. */
export class MusterError extends Error {
  override readonly name: 'MusterError' | 'UnsupportedByMaster' = 'MusterError'
  readonly code: MusterErrorCode
  /** Whether the change was made: never sent, sent but rejected, or not known. */
  readonly outcome: 'not_sent' | 'not_done' | 'unknown'
  /** Whether the same call may succeed later. */
  readonly retryable: boolean
  /** ID of the request in the log of the master. */
  readonly requestId: string | undefined
  /** Every fault of the code INVALID, otherwise empty. */
  readonly faults: readonly Fault[]

  /**
   * Creates the error of one call.
   * @param code Why it failed.
   * @param message One sentence for people.
   * @param facts What is known of the failure.
   */
  constructor(code: MusterErrorCode, message: string, facts: MusterErrorFacts) {
    super(message, facts.cause === undefined ? {} : { cause: facts.cause })
    this.code = code
    this.outcome = facts.outcome
    this.retryable = facts.retryable
    this.requestId = facts.requestId
    this.faults = facts.faults ?? []
  }
}

/**
 * A call that failed because a master is of an older release, which does not know the call or one of its fields. If it
 * is `retryable`, an upgrade of the masters is under way, and has not ended within the timeout of the call.
 */
export class UnsupportedByMaster extends MusterError {
  override readonly name = 'UnsupportedByMaster'
}

/**
 * Returns what a call returns.
 * @param call The call.
 * @param missing As in `published`.
 * @throws {MusterError} for a MasterError; anything else unchanged.
 */
export async function publishing<T>(call: Promise<T>, missing?: MusterErrorCode): Promise<T> {
  try {
    return await call
  } catch (error) {
    throw published(error, missing)
  }
}

/** Returns the body of a response. @throws {MusterError} for a MasterError; anything else unchanged. */
export const bodyOf = async <T>(call: Promise<{ readonly body: T }>): Promise<T> => (await publishing(call)).body

/**
 * Converts a MasterError; returns anything else unchanged, such as the reason of an aborted signal.
 * @param error What a call has thrown.
 * @param missing The code that means that the master does not know the call.
 */
export function published(error: unknown, missing: MusterErrorCode = 'METHOD_NOT_ALLOWED'): unknown {
  if (!(error instanceof MasterError)) return error
  const code: MusterErrorCode = error.code satisfies MasterErrorCode
  return new (isUnsupported(error, missing) ? UnsupportedByMaster : MusterError)(code, error.message, {
    outcome: error.isSent ? error.outcome : 'not_sent',
    retryable: error.isRetryable,
    requestId: error.requestId,
    faults: faultsOf(error.faults),
    cause: error.cause,
  })
}

/** Returns the faults that a master has found, as the client shows them. */
export const faultsOf = (faults: readonly FieldError[]): readonly Fault[] =>
  faults.map(({ path, message }) => ({ field: path, problem: message }))

/** Whether a master does not know the call, or a field of a task. Fields of the payload are those of the caller. */
function isUnsupported({ isUpgrading, code, faults }: MasterError, missing: MusterErrorCode): boolean {
  const isUnknownField = ({ keyword, path }: FieldError): boolean =>
    keyword === 'additionalProperties' && path.lastIndexOf('/') === 0
  return isUpgrading || code === missing || faults.some(isUnknownField)
}
