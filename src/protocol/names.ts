/**
 * @module protocol/names
 * Defines names and numbers that many shapes share, as schemas.
 * @see D9, D36, D56, D59
 */
import { Type } from 'typebox'
import {
  MAX_ATTEMPTS,
  MAX_HOLD_MS,
  MAX_MANAGED_BY_CHARS,
  MAX_N,
  MAX_NAME_CHARS,
  MAX_POINTER_CHARS,
  MAX_DELAY_SECONDS,
  MAX_RETAIN_SECONDS,
  MAX_TTL_SECONDS,
  MAX_WAIT_SECONDS,
  MIN_HOLD_MS,
} from './limits.ts'
import { POINTER_PATTERN } from './pointers.ts'

/** An automation type. */
export const TYPE_PATTERN = '^[a-z0-9][a-z0-9-]{0,62}$'
/** A name without control characters. The format `well-formed` (validator.ts) rejects half surrogate pairs. */
export const NAME_PATTERN = '^[^\\u0000-\\u001f\\u007f-\\u009f]+$'
/** The same without a slash, because it is a segment of paths. */
const WORKER_ID_PATTERN = '^[^/\\u0000-\\u001f\\u007f-\\u009f]+$'
/** Printable ASCII. */
export const PRINTABLE_PATTERN = '^[ -~]+$'

/** The key of a label (D113). */
export const LABEL_PATTERN = '^[a-z0-9][a-z0-9_.-]{0,63}$'
/** The key of a label of a worker (D136). */
export const WORKER_LABEL_KEY_PATTERN = '^[a-z0-9]([a-z0-9./-]{0,61}[a-z0-9])?$'
/** The value of a label of a worker: printable ASCII, possibly empty. */
export const WORKER_LABEL_VALUE_PATTERN = '^[ -~]*$'
/** The name of a revision of configs. */
const REVISION_PATTERN = '^[a-z0-9][a-z0-9_.-]{0,62}$'
/** The variant of a revision. */
const VARIANT_PATTERN = '^[a-z0-9_.-]{1,32}$'
/** A percentage from 1% to 100%. */
export const PERCENT_PATTERN = '^([1-9][0-9]?|100)%$'
/** `traceparent` of W3C, version 00. */
export const TRACEPARENT_PATTERN = '^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$'

/** The patterns of Muster itself; none of them can make a matching engine backtrack. */
export const OWN_PATTERNS: ReadonlySet<string> = new Set([
  TYPE_PATTERN,
  NAME_PATTERN,
  WORKER_ID_PATTERN,
  PRINTABLE_PATTERN,
  LABEL_PATTERN,
  WORKER_LABEL_KEY_PATTERN,
  WORKER_LABEL_VALUE_PATTERN,
  TRACEPARENT_PATTERN,
  REVISION_PATTERN,
  VARIANT_PATTERN,
  PERCENT_PATTERN,
  POINTER_PATTERN,
])

/**
 * Creates the schema of an object that rejects unknown fields.
 *
 * @param fields The schema of each field.
 * @param options `description`: the text of the OpenAPI document.
 */
export const Strict = <T extends Parameters<typeof Type.Object>[0]>(
  fields: T,
  options: { description?: string } = {},
) => Type.Object(fields, { ...options, additionalProperties: false })

/** An automation type. */
export const AutomationType = Type.String({ pattern: TYPE_PATTERN })
/** A name of 1 to 256 characters without control characters. */
export const Name = Type.String({
  minLength: 1,
  maxLength: MAX_NAME_CHARS,
  pattern: NAME_PATTERN,
  format: 'well-formed',
})
/** A worker id. {@link isWorkerId} also rejects `.` and `..`. */
export const WorkerId = Type.String({
  minLength: 1,
  maxLength: MAX_NAME_CHARS,
  pattern: WORKER_ID_PATTERN,
  format: 'well-formed',
})
/** A point in time in unix seconds, possibly with a fraction. */
export const Seconds = Type.Number({ description: 'unix seconds' })
/** Any object. A record schema would match a pattern against every key of every payload. */
export const AnyObject = Type.Unsafe<Record<string, unknown>>({ type: 'object' })
/** An `n` or `limit`: 1 to 10,000. */
export const N = Type.Integer({ minimum: 1, maximum: MAX_N })
/** A priority: any 32-bit integer. */
export const Priority = Type.Integer({ minimum: -(2 ** 31), maximum: 2 ** 31 - 1 })
/** The lifetime of a task: 1 second to one year. */
export const TtlSeconds = Type.Integer({ minimum: 1, maximum: MAX_TTL_SECONDS })
/** `delay_seconds` of a task (D104). */
export const DelaySeconds = Type.Number({ minimum: 0, maximum: MAX_DELAY_SECONDS })
/** `not_before` of a task (D104). */
export const NotBefore = Type.Number({ minimum: 0, description: 'unix seconds' })
/** `idempotency_ttl_seconds` of a task (D105). */
export const IdempotencyTtlSeconds = Type.Integer({ minimum: 1, maximum: MAX_TTL_SECONDS })
/** `retain_seconds` of a task: up to one week; 0 retains nothing (D110). */
export const RetainSeconds = Type.Number({ minimum: 0, maximum: MAX_RETAIN_SECONDS })
/** `wait_seconds` of a request for the state of tasks (D111). */
export const WaitSeconds = Type.Number({ minimum: 0, maximum: MAX_WAIT_SECONDS })
/** `seconds` of a pause: 1 second to one year (D106). */
export const PauseSeconds = Type.Number({ minimum: 1, maximum: MAX_DELAY_SECONDS })
/** The attempts of a task: 1 to 1,000. */
export const MaxAttempts = Type.Integer({ minimum: 1, maximum: MAX_ATTEMPTS })
/** The hold of a lock or claim: 1,000 to 43,200,000 ms. */
export const HoldMs = Type.Integer({ minimum: MIN_HOLD_MS, maximum: MAX_HOLD_MS })
/** The name of the manager of a config, chosen by the manager: 1 to 128 printable ASCII characters (D31, D51). */
export const ManagedBy = Type.String({ minLength: 1, maxLength: MAX_MANAGED_BY_CHARS, pattern: PRINTABLE_PATTERN })
/** The name of a revision: 1 to 63 characters (D132). */
export const RevisionName = Type.String({ pattern: REVISION_PATTERN })
/** The variant of a revision: 1 to 32 characters (D133). */
export const Variant = Type.String({ pattern: VARIANT_PATTERN })
/** A JSON pointer to a config field. {@link isFieldPointer} also checks the escapes of its steps. */
export const Pointer = Type.String({ maxLength: MAX_POINTER_CHARS, pattern: POINTER_PATTERN })
/** A fencing token: grows with every lease. */
export const Token = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
/** Creates the schema of a field that may be null. */
export const Nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Union([schema, Type.Null()])
/** Creates the schema of a field that a client may leave out. `null` counts as left out (D76). */
export const Maybe = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) => Type.Optional(Nullable(schema))

const WORKER_ID = new RegExp(WORKER_ID_PATTERN)
const REVISION = new RegExp(REVISION_PATTERN)

/** Returns whether `text` may name a revision: 1 to 63 of `a-z 0-9 _ . -`, beginning with a letter or a digit. */
export const isRevisionName = (text: string): boolean => REVISION.test(text)

/**
 * Returns whether `text` may name a worker: 1 to 256 well-formed characters, no control characters, no slash, not `.`
 * or `..`.
 */
export function isWorkerId(text: string): boolean {
  return (
    WORKER_ID.test(text) && text.isWellFormed() && [...text].length <= MAX_NAME_CHARS && text !== '.' && text !== '..'
  )
}
