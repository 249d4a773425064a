/** @module master/queue/new-task  Creates the task of the store from a task body of the API. */
import {
  lazyValidator,
  MAX_DELAY_SECONDS,
  TaskBody,
  TraceParent,
  TraceState,
  withRetryDefaults,
  type FieldError,
} from '../../protocol/index.ts'
import type { CatalogEntry } from '../../automation/index.ts'
import type { Clock, Random, TraceHeaders } from '../../runtime/index.ts'
import type { NewTask, Tier } from '../../storage/index.ts'
import { bodyText } from './body-text.ts'

const validateTask = lazyValidator(TaskBody)
const validateTraceParent = lazyValidator(TraceParent)
const validateTraceState = lazyValidator(TraceState)

/** All faults of a task body, including its payload (422). Pointers start at the task body. */
export function taskFaults(body: unknown, entry: CatalogEntry, bounds: TaskBounds): readonly FieldError[] {
  const faults = validateTask(body)
  if (faults.length === 0) return remainingFaults(body as TaskBody, entry, bounds)
  const { payload } = Object(body) as { payload?: unknown }
  return isObject(payload) ? [...faults, ...payloadFaults(payload, entry)] : faults
}

/**
 * Faults that the schema of a task body does not find: of its payload, its times, the window of its key, its retry
 * policy, its trace, its unique key and its group.
 */
export function remainingFaults(body: TaskBody, entry: CatalogEntry, bounds: TaskBounds): readonly FieldError[] {
  const faults = payloadFaults(body.payload, entry)
  const delay = delayFault(body, bounds.backendNowMs())
  const window = windowFault(body, bounds.idempotencyTtlSeconds)
  const retry = retryFault(body)
  const trace = traceFault(body)
  const unique = uniqueFault(body)
  const group = groupFault(body, entry)
  const others = [delay, window, retry, trace, unique, group]
  if (others.every((fault) => fault === null)) return faults
  return [
    ...faults,
    ...faultAt('/not_before', 'delay', delay),
    ...faultAt('/idempotency_ttl_seconds', 'window', window),
    ...faultAt('/retry/cap_seconds', 'retry', retry),
    ...faultAt('/traceparent', 'trace', trace),
    ...faultAt('/unique_key', 'unique', unique),
    ...faultAt('/group_key', 'group', group),
  ]
}

const faultAt = (path: string, keyword: string, message: string | null): readonly FieldError[] =>
  message === null ? [] : [{ path, keyword, params: {}, message }]

function retryFault({ retry }: TaskBody): string | null {
  if (retry === undefined || retry === null) return null
  const { base_seconds: base, cap_seconds: cap } = withRetryDefaults(retry)
  return cap < base ? `must not be less than base_seconds (${base})` : null
}

function traceFault({ traceparent, tracestate }: TaskBody): string | null {
  if (typeof traceparent !== 'string') return typeof tracestate === 'string' ? 'is missing; tracestate needs it' : null
  return isTrace(traceparent) ? null : 'must not consist of zeros'
}

/** Whether a `traceparent` of the right form names a trace and a span. */
const isTrace = (traceparent: string): boolean => !/-0+-/.test(traceparent)

/** Returns the trace of a request; `undefined` if its headers are missing or wrong. */
export function traceOf(header: (name: string) => string | undefined): TraceHeaders | undefined {
  const [traceparent, tracestate] = [header('traceparent'), header('tracestate')]
  if (traceparent === undefined || validateTraceParent(traceparent).length > 0 || !isTrace(traceparent))
    return undefined
  return { traceparent, ...(validateTraceState(tracestate).length === 0 && { tracestate }) }
}

function windowFault(body: TaskBody, maxSeconds: number): string | null {
  const { idempotency_ttl_seconds: seconds = null, idempotency_key: key = null } = body
  if (seconds === null) return null
  if (key === null) return 'needs idempotency_key'
  return seconds > maxSeconds ? `must not be more than ${maxSeconds}, the window of this master` : null
}

function uniqueFault({ unique_key: key, unique_until: until, on_conflict: onConflict }: TaskBody): string | null {
  if (isGiven(key)) return null
  if (isGiven(until)) return 'is missing; unique_until needs it'
  return isGiven(onConflict) ? 'is missing; on_conflict needs it' : null
}

function groupFault({ group_key: key }: TaskBody, { type, groups = null }: CatalogEntry): string | null {
  if (!isGiven(key) || groups !== null) return null
  return `needs a type with groups; add "groups" to the automation "${type}", or leave group_key out`
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null

function delayFault({ delay_seconds: delay, not_before: notBefore }: TaskBody, nowMs: number): string | null {
  if (notBefore === undefined || notBefore === null) return null
  if (delay !== undefined && delay !== null) return 'must not be combined with delay_seconds'
  return notBefore - nowMs / 1_000 > MAX_DELAY_SECONDS ? 'must not be more than a year ahead' : null
}

/** Faults of a payload. Pointers start at the task body. */
export function payloadFaults(payload: unknown, entry: CatalogEntry): readonly FieldError[] {
  return (entry.validatePayload?.(payload) ?? []).map((fault) => ({ ...fault, path: `/payload${fault.path}` }))
}

/** What the times of a task are checked against. */
interface TaskBounds {
  /** The backend's time, from which a delay counts. */
  readonly backendNowMs: () => number
  /** The window of an idempotency key without its own; a task may shorten it (D105). */
  readonly idempotencyTtlSeconds: number
}
/** What a new task needs from the master. */
export interface NewTaskDeps extends TaskBounds {
  readonly clock: Clock
  readonly random: Random
}

/** What a task has beside its parsed body. */
interface Submitted {
  /** The payload with its numbers as they were sent (D75). */
  readonly exactPayload: unknown
  /** The trace of the request, for a task without its own. */
  readonly trace: TraceHeaders | undefined
}

/** @param entry Its default applies to a task without `retain_seconds`. */
export function newTask(
  body: TaskBody,
  { exactPayload, trace }: Submitted,
  { retainMs: defaultRetainMs = 0 }: CatalogEntry,
  { clock, random, backendNowMs }: NewTaskDeps,
): NewTask {
  const { task_id: ownId, ttl_seconds: ttlSeconds = null, idempotency_ttl_seconds: keyTtlSeconds } = body
  const { retain_seconds: retainSeconds = null } = body
  const retainMs = retainSeconds === null ? defaultRetainMs : Math.round(retainSeconds * 1_000)
  const notBeforeMs = notBeforeOf(body, backendNowMs)
  const priority = body.priority ?? 0
  const submitted = clock.wallMs()
  return {
    id: ownId ?? timedUuid(submitted, random),
    ownId: typeof ownId === 'string',
    key: body.idempotency_key ?? null,
    ...(typeof keyTtlSeconds === 'number' && { keyTtlMs: keyTtlSeconds * 1_000 }),
    tier: tierOf(priority),
    ttlMs: ttlSeconds === null ? null : ttlSeconds * 1_000,
    maxAttempts: body.max_attempts ?? null,
    submittedAtMs: submitted,
    ...(notBeforeMs !== undefined && { notBeforeMs }),
    ...(retainMs > 0 && { retainMs }),
    ...uniqueOf(body),
    ...groupOf(body),
    body: bodyText(body, { exactPayload, trace, retainMs, notBeforeMs, priority, submittedAtMs: submitted }),
  }
}

/** The unique key of a task; nothing if it has none (D118). */
function uniqueOf({
  unique_key: key,
  unique_until: until,
  on_conflict: onConflict,
}: TaskBody): Pick<NewTask, 'unique'> {
  if (typeof key !== 'string') return {}
  return { unique: { key, until: until ?? 'started', onConflict: onConflict ?? 'keep' } }
}

/** The group of a task; nothing if it has none (D119). */
function groupOf({ group_key: group }: TaskBody): Pick<NewTask, 'group'> {
  return typeof group === 'string' ? { group } : {}
}

/** The time before which the task may not run (D104). */
function notBeforeOf(body: TaskBody, backendNowMs: () => number): number | undefined {
  const { delay_seconds: delay, not_before: notBefore } = body
  if (typeof notBefore === 'number') return Math.round(notBefore * 1_000)
  return typeof delay === 'number' ? Math.round(backendNowMs() + delay * 1_000) : undefined
}

/**
 * A UUID of version 7 (RFC 9562), as hex. It begins with the time in ms, so that tasks of the same moment share pages
 * of an index. With random ids, each task had to write its own page at submit and again at ack.
 */
function timedUuid(ms: number, random: Random): string {
  const drawn = random.uuid()
  const time = Math.floor(ms).toString(16).padStart(12, '0')
  return `${time}7${drawn.slice(15, 18)}${drawn.slice(19, 23)}${drawn.slice(24)}`
}

function tierOf(priority: number): Tier {
  if (priority > 0) return 0
  return priority === 0 ? 1 : 2
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)
