/**
 * @module dashboard/tasks/submission
 * Converts the submit form to the body of a task. The idempotency key is generated when the form opens and kept until a
 * submission is confirmed. So submitting again after a lost response does not queue the task twice.
 */
import type { FieldError, JsonObject, SubmitResult, TaskBody } from '../../protocol/index.ts'
import { inPageWords, onePerField } from '../config/fault-text.ts'
import { draftOf, unreadable, type ValueDraft } from '../config/value-draft.ts'

export interface Submission {
  readonly payload: ValueDraft
  readonly priority: string
  readonly taskId: string
  readonly delaySeconds: string
  readonly ttlSeconds: string
  /** `key=value`, separated by commas. */
  readonly labels: string
  readonly group: string
  readonly maxAttempts: string
  readonly idempotencyKey: string
}

export const PRIORITIES = [
  { value: '1', text: 'High (1)' },
  { value: '0', text: 'Normal (0)' },
  { value: '-1', text: 'Low (−1)' },
] as const
const PRIORITY_MOST = 2_147_483_647

export const newSubmission = (idempotencyKey: string, payload: JsonObject = {}): Submission => ({
  payload: draftOf(payload),
  priority: '0',
  taskId: '',
  delaySeconds: '',
  ttlSeconds: '',
  labels: '',
  group: '',
  maxAttempts: '',
  idempotencyKey,
})

type SubmissionReading =
  | { readonly kind: 'valid'; readonly body: TaskBody }
  | { readonly kind: 'invalid'; readonly faults: readonly FieldError[] }

/** @returns The request body, or the fields that cannot be parsed with their paths. */
export function readSubmission(submission: Submission): SubmissionReading {
  const { payload, taskId, group, idempotencyKey } = submission
  const [ttl, attempts, priority] = [
    wholeNumber(submission.ttlSeconds),
    wholeNumber(submission.maxAttempts),
    wholeNumber(submission.priority),
  ]
  const extras = readExtras(submission)
  const faults = [
    ...unreadable(payload).map((each) => ({ ...each, path: `/payload${each.path}` })),
    ...(isObject(payload.value) ? [] : [fault('/payload', 'expected a JSON object, for example {}')]),
    ...(priority === null || priority === 'unreadable' || Math.abs(priority) > PRIORITY_MOST
      ? [fault('/priority', 'expected a whole number, for example 5 or -5')]
      : []),
    ...extras.faults,
    ...(ttl === 'unreadable' ? [fault('/ttl_seconds', 'expected a whole number of seconds, or empty')] : []),
    ...(attempts === 'unreadable' ? [fault('/max_attempts', 'expected a whole number, or empty')] : []),
  ]
  if (faults.length > 0) return { kind: 'invalid', faults }
  return {
    kind: 'valid',
    body: {
      payload: payload.value as JsonObject,
      priority: priority as number,
      ...(taskId === '' ? {} : { task_id: taskId }),
      ...extras.body,
      ...(group === '' ? {} : { group_key: group }),
      ...(ttl === null ? {} : { ttl_seconds: ttl as number }),
      ...(attempts === null ? {} : { max_attempts: attempts as number }),
      ...(idempotencyKey === '' ? {} : { idempotency_key: idempotencyKey }),
    },
  }
}

const fault = (path: string, message: string): FieldError => ({ path, message, keyword: 'type', params: {} })

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function wholeNumber(text: string): number | null | 'unreadable' {
  if (text.trim() === '') return null
  return /^\s*-?\d+\s*$/.test(text) ? Number(text) : 'unreadable'
}

/** Reads the delay and the labels; the body is not complete if there are faults. */
function readExtras({ delaySeconds, labels: labelText }: Submission): {
  readonly body: Pick<TaskBody, 'delay_seconds' | 'labels'>
  readonly faults: readonly FieldError[]
} {
  const delay = decimalNumber(delaySeconds)
  const labels = readLabels(labelText)
  return {
    body: {
      ...(typeof delay === 'number' && { delay_seconds: delay }),
      ...(labels !== null && labels !== 'unreadable' && { labels }),
    },
    faults: [
      ...(delay === 'unreadable' ? [fault('/delay_seconds', 'expected a number of seconds, or empty')] : []),
      ...(labels === 'unreadable' ? [fault('/labels', 'expected key=value, separated by commas, or empty')] : []),
    ],
  }
}

function decimalNumber(text: string): number | null | 'unreadable' {
  if (text.trim() === '') return null
  return /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : 'unreadable'
}

function readLabels(text: string): Readonly<Record<string, string>> | null | 'unreadable' {
  if (text.trim() === '') return null
  // `key:value` is accepted too: label filters of the API use it.
  const pairs = text.split(',').map((each) => /^([^=:]+)[=:](.*)$/s.exec(each.trim()))
  if (pairs.includes(null)) return 'unreadable'
  return Object.fromEntries(pairs.map((pair) => [pair?.[1], pair?.[2]]))
}

/** The first fault of each field of the payload, in the words of the config form. Paths are relative to the payload. */
export const payloadFaults = (faults: readonly FieldError[]): readonly FieldError[] =>
  onePerField(
    faults
      .filter(({ path }) => path === '/payload' || path.startsWith('/payload/'))
      .map((each) => inPageWords({ ...each, path: each.path.slice('/payload'.length) })),
  )

/** The fault of another field; null if there is none. */
export function faultOf(faults: readonly FieldError[], field: string): string | null {
  const found = faults.find(({ path }) => path === `/${field}` || path.startsWith(`/${field}/`))
  return found === undefined ? null : inPageWords(found).message
}

export function resultText(result: SubmitResult): string {
  return result.queued ? `Queued as ${result.task_id}.` : `Not queued: duplicate of task ${result.task_id}.`
}

/** 128 random bits as hex. `crypto.randomUUID` is not available on pages loaded over plain HTTP. */
export function randomKey(fill: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array): string {
  return [...fill(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** The initial payload: an object with an example value for every required property. */
export function payloadExample(schema: JsonObject | null): JsonObject {
  const properties = (schema?.['properties'] ?? {}) as Readonly<Record<string, Readonly<Record<string, unknown>>>>
  const required = Array.isArray(schema?.['required']) ? (schema['required'] as unknown[]) : []
  return Object.fromEntries(
    Object.entries(properties)
      .filter(([name]) => required.includes(name))
      .map(([name, property]) => [name, exampleOf(property)]),
  ) as JsonObject
}

function exampleOf(schema: Readonly<Record<string, unknown>>): unknown {
  if (schema['default'] !== undefined) return schema['default']
  if (Array.isArray(schema['examples']) && schema['examples'].length > 0) return schema['examples'][0]
  if (Array.isArray(schema['enum'])) return schema['enum'][0]
  const empty: Readonly<Record<string, unknown>> = {
    string: '',
    integer: 0,
    number: 0,
    boolean: false,
    array: [],
    object: {},
  }
  return empty[String(schema['type'])] ?? null
}
