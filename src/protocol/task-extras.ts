/**
 * @module protocol/task-extras
 * Defines what a task may have besides its payload: labels, a retry policy, a trace, a unique key and a group.
 * @see D113, D118, D119
 */
import { Type, type Static } from 'typebox'
import { MAX_LABEL_CHARS, MAX_LABELS_PER_TASK, MAX_RETRY_IN_MS, MAX_TRACESTATE_CHARS, RETRY } from './limits.ts'
import { LABEL_PATTERN, Name, PRINTABLE_PATTERN, Strict, TRACEPARENT_PATTERN } from './names.ts'

/** The labels of a task (D113). */
export const Labels = Type.Record(
  Type.String({ pattern: LABEL_PATTERN }),
  Type.String({ maxLength: MAX_LABEL_CHARS, format: 'well-formed' }),
  { maxProperties: MAX_LABELS_PER_TASK, additionalProperties: false },
)
/** A delay of a retry policy: above 0, up to a day. */
export const RetrySeconds = Type.Number({ exclusiveMinimum: 0, maximum: MAX_RETRY_IN_MS / 1_000 })
/** The growth of a delay with each failed run. */
export const RetryFactor = Type.Number({ minimum: 1, maximum: 1_000 })
/** The retry policy of one task, as a client sends it (D113). */
export const RetryFields = Strict({
  base_seconds: Type.Optional(RetrySeconds),
  factor: Type.Optional(RetryFactor),
  cap_seconds: Type.Optional(RetrySeconds),
})
/** The retry policy of one task, with its defaults. */
const RetryBody = Strict({ base_seconds: RetrySeconds, factor: RetryFactor, cap_seconds: RetrySeconds })
/** The trace of W3C that a task belongs to. */
export const TraceParent = Type.String({ pattern: TRACEPARENT_PATTERN })
/** `tracestate` of W3C: vendor data of the trace. */
export const TraceState = Type.String({ minLength: 1, maxLength: MAX_TRACESTATE_CHARS, pattern: PRINTABLE_PATTERN })
/** Until when a unique key conflicts (D118). */
export const UniqueUntil = Type.Union([Type.Literal('started'), Type.Literal('finished')])
/** What a submit does if its unique key conflicts (D118). */
export const OnConflict = Type.Union([Type.Literal('keep'), Type.Literal('replace')])
/** What a task may have besides its payload, wherever the task is shown (D113, D118, D119). */
export const taskExtras = {
  labels: Type.Optional(Labels),
  retry: Type.Optional(RetryBody),
  traceparent: Type.Optional(TraceParent),
  tracestate: Type.Optional(TraceState),
  unique_key: Type.Optional(Name),
  group_key: Type.Optional(Name),
}

/** A retry policy in which any field may be missing. */
export type PartialRetry = {
  readonly [Field in keyof Static<typeof RetryFields>]: number | undefined
}

/**
 * Adds the defaults of a retry policy (D25).
 *
 * @param options `base_seconds`: the first delay. `factor`: its growth. `cap_seconds`: the longest delay.
 * @returns the whole policy. Its `cap_seconds` may be less than `base_seconds`.
 */
export function withRetryDefaults({
  base_seconds: base = RETRY.baseMs / 1_000,
  factor = RETRY.factor,
  cap_seconds: cap = Math.max(base, RETRY.capMs / 1_000),
}: PartialRetry): Static<typeof RetryBody> {
  return { base_seconds: base, factor, cap_seconds: cap }
}
