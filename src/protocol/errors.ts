/**
 * @module protocol/errors
 * Defines every failure that a caller may branch on, in one table. Codes stay; sentences are prose and may change.
 *
 * An expected outcome is data, one per item (`lease_lost`). A failure of a whole call is a {@link FleetError}. A
 * programming error is a TypeError.
 */

/** The failures. `status`: HTTP status of the response. `retryable`: the same call, unchanged, may succeed later. */
export const ERRORS = {
  BAD_REQUEST: { status: 400, retryable: false },
  UNAUTHENTICATED: { status: 401, retryable: false },
  FORBIDDEN: { status: 403, retryable: false },
  NOT_FOUND: { status: 404, retryable: false },
  METHOD_NOT_ALLOWED: { status: 405, retryable: false },
  TIMED_OUT: { status: 408, retryable: true },
  CLAIMED: { status: 409, retryable: false },
  STALE_GENERATION: { status: 412, retryable: false },
  TOO_LARGE: { status: 413, retryable: false },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, retryable: false },
  INVALID: { status: 422, retryable: false },
  RATE_LIMITED: { status: 429, retryable: true },
  ISSUER_UNAVAILABLE: { status: 503, retryable: true },
  UPGRADING: { status: 503, retryable: true },
  OVERLOADED: { status: 503, retryable: true },
  QUEUE_FULL: { status: 503, retryable: true },
  STORAGE_UNAVAILABLE: { status: 503, retryable: true },
  STORAGE_OVERLOADED: { status: 503, retryable: true },
  STORAGE_FULL: { status: 503, retryable: true },
  STORAGE_NOT_OPEN: { status: 503, retryable: true },
  STORAGE_CORRUPT: { status: 503, retryable: false },
  STORAGE_LOCKED: { status: 503, retryable: false },
  STORAGE_SCHEMA: { status: 503, retryable: false },
} as const satisfies Record<string, { status: number; retryable: boolean }>

/** The code of a {@link FleetError}. */
export type ErrorCode = keyof typeof ERRORS

/** One fault of a value. `path` is a JSON pointer into it, '' for the whole (D14). */
export interface FieldError {
  readonly path: string
  readonly message: string
  readonly keyword: string
  readonly params: Readonly<Record<string, unknown>>
}

/** What a {@link FleetError} has beside its code and detail. */
export interface FleetErrorOptions extends ErrorOptions {
  /** Seconds after which a retry makes sense; becomes `Retry-After`. */
  readonly retryAfterSeconds?: number
  /** Whether the call may have had its effect: `unknown` when no response arrived. */
  readonly outcome?: 'not_sent' | 'unknown'
  /** Further headers of the response (`Allow`, `WWW-Authenticate`). */
  readonly headers?: Readonly<Record<string, string>>
}

/** A failure of a whole call. `detail` is sent to the client: one sentence, or the list of faults for INVALID. */
export class FleetError extends Error {
  override readonly name = 'FleetError'
  readonly code: ErrorCode
  readonly detail: string | readonly FieldError[]
  readonly retryAfterSeconds: number | undefined
  readonly outcome: 'not_sent' | 'unknown' | undefined
  readonly headers: Readonly<Record<string, string>>

  /**
   * Creates a failure.
   *
   * @param code What failed.
   * @param detail One sentence; the list of faults for INVALID.
   * @param options The cause, and what the client needs for a retry.
   */
  constructor(code: ErrorCode, detail: string | readonly FieldError[], options: FleetErrorOptions = {}) {
    super(
      typeof detail === 'string'
        ? detail
        : detail.map((each) => `${each.path || 'the value'}: ${each.message}`).join('; '),
      options,
    )
    this.code = code
    this.detail = detail
    this.retryAfterSeconds = options.retryAfterSeconds
    this.outcome = options.outcome
    this.headers = options.headers ?? {}
  }
}

/**
 * Returns the detail of a failure that a client may read. Sentences of the store may name its file or host, so they are
 * replaced; they belong in logs alone.
 *
 * @param options A failure: its `code`, `detail` and `outcome`.
 */
export function detailForClient({ code, detail, outcome }: FleetError): FleetError['detail'] {
  if (code === 'STORAGE_UNAVAILABLE' || code === 'STORAGE_NOT_OPEN') {
    return outcome === 'not_sent'
      ? 'the store is unavailable; nothing was changed'
      : 'the store did not respond; whether the change was made is unknown'
  }
  if (code === 'STORAGE_CORRUPT' || code === 'STORAGE_LOCKED' || code === 'STORAGE_SCHEMA')
    return 'the store cannot be used; the log of the master says why'
  return detail
}

/**
 * Returns the field of an error body that names its code. Only UPGRADING has it, so that a client can tell it from the
 * other 503 (D130).
 *
 * @param options A failure: its `code`.
 */
export const codeForClient = ({ code }: FleetError): { code?: 'UPGRADING' } => (code === 'UPGRADING' ? { code } : {})

/**
 * Creates an INVALID failure of one fault: `invalid('/n', 'expected …')`.
 *
 * @param path JSON pointer to the wrong value; '' for the whole.
 * @param message What is expected, without the name of the field.
 * @param keyword The violated keyword of the schema; `value` if omitted.
 * @param params Details of the fault, such as a limit; none if omitted.
 */
export function invalid(
  path: string,
  message: string,
  keyword = 'value',
  params: FieldError['params'] = {},
): FleetError {
  return new FleetError('INVALID', [{ path, message, keyword, params }])
}

/**
 * Close codes of the control channel. The worker sends `WORKER_ENDED`, the master all others.
 * @see RFC 6455 section 7.4; D12, D142
 */
export const CLOSE = {
  GOING_AWAY: 1001,
  INVALID_FRAME: 1007,
  POLICY: 1008,
  TOO_BIG: 1009,
  INTERNAL_ERROR: 1011,
  TRY_AGAIN_LATER: 1013,
  PROTOCOL_VERSION: 4000,
  WORKER_ENDED: 4100,
  INVALID_TOKEN: 4401,
} as const

/** JSON-RPC error codes (D60). The name is repeated in `data.code`. */
export const RPC_ERRORS = {
  parse_error: -32700,
  invalid_request: -32600,
  method_not_found: -32601,
  invalid_params: -32602,
  lease_lost: -32001,
  unknown_worker: -32002,
  unavailable: -32003,
  unknown_pool: -32004,
  out_of_range: -32005,
} as const

/** The name of a JSON-RPC error. */
export type RpcErrorName = keyof typeof RPC_ERRORS
