/**
 * @module protocol/names
 * Names and numbers that many shapes share, as schemas (D9, D36, D56, D59).
 */
import { Type } from 'typebox'
import {
  MAX_ATTEMPTS,
  MAX_HOLD_MS,
  MAX_MANAGED_BY_CHARS,
  MAX_N,
  MAX_NAME_CHARS,
  MAX_TTL_SECONDS,
  MIN_HOLD_MS,
} from './limits.ts'

/** An automation type. */
export const TYPE_PATTERN = '^[a-z0-9][a-z0-9-]{0,62}$'
/** A name without control characters. That it is well-formed text is a format of its own (validator.ts). */
export const NAME_PATTERN = '^[^\\u0000-\\u001f\\u007f-\\u009f]+$'
/** The same without a slash, since it stands in paths. */
const WORKER_ID_PATTERN = '^[^/\\u0000-\\u001f\\u007f-\\u009f]+$'
/** Printable ASCII. */
const PRINTABLE_PATTERN = '^[ -~]+$'

/** Our own patterns, each free of anything that could make a matching engine go back over the text. */
export const OWN_PATTERNS: ReadonlySet<string> = new Set([
  TYPE_PATTERN,
  NAME_PATTERN,
  WORKER_ID_PATTERN,
  PRINTABLE_PATTERN,
])

/** Strict object: an unknown field is a fault. */
export const Strict = <T extends Parameters<typeof Type.Object>[0]>(
  fields: T,
  options: { description?: string } = {},
) => Type.Object(fields, { ...options, additionalProperties: false })

export const AutomationType = Type.String({ pattern: TYPE_PATTERN })
export const Name = Type.String({
  minLength: 1,
  maxLength: MAX_NAME_CHARS,
  pattern: NAME_PATTERN,
  format: 'well-formed',
})
/** `.` and `..` are refused as well, see {@link isWorkerId}. */
export const WorkerId = Type.String({
  minLength: 1,
  maxLength: MAX_NAME_CHARS,
  pattern: WORKER_ID_PATTERN,
  format: 'well-formed',
})
export const Seconds = Type.Number({ description: 'unix seconds' })
/** Not a record of anything: that would try a pattern on every key of every payload. */
export const AnyObject = Type.Unsafe<Record<string, unknown>>({ type: 'object' })
export const N = Type.Integer({ minimum: 1, maximum: MAX_N })
export const Priority = Type.Integer({ minimum: -(2 ** 31), maximum: 2 ** 31 - 1 })
export const TtlSeconds = Type.Integer({ minimum: 1, maximum: MAX_TTL_SECONDS })
export const MaxAttempts = Type.Integer({ minimum: 1, maximum: MAX_ATTEMPTS })
export const HoldMs = Type.Integer({ minimum: MIN_HOLD_MS, maximum: MAX_HOLD_MS })
/** Who manages a config, in words of its own (D31, D51). */
export const ManagedBy = Type.String({ minLength: 1, maxLength: MAX_MANAGED_BY_CHARS, pattern: PRINTABLE_PATTERN })
/** A fencing token: grows with every lease. */
export const Token = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
/** A field that may be null. */
export const Nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Union([schema, Type.Null()])
/** A field that a client may leave out. `null` is the same, since many serialisers write it (D76). */
export const Maybe = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) => Type.Optional(Nullable(schema))

const WORKER_ID = new RegExp(WORKER_ID_PATTERN)

/**
 * Whether `text` may name a worker: 1..256 well-formed characters, no control characters, no slash, not `.` or `..`.
 */
export function isWorkerId(text: string): boolean {
  return (
    WORKER_ID.test(text) && text.isWellFormed() && [...text].length <= MAX_NAME_CHARS && text !== '.' && text !== '..'
  )
}
