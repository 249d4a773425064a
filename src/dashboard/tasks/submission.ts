/**
 * @module dashboard/tasks/submission
 * The submit form as the body of one task. The idempotency key is made when the form opens and kept until a submission is
 * confirmed, so pressing again after a lost answer cannot queue twice.
 */
import type { JsonObject, SubmitResult, TaskBody } from '../../protocol/index.ts'
import { parseJson } from '../parts/json-text.ts'

export interface Submission {
  readonly payload: string
  readonly priority: string
  readonly taskId: string
  readonly ttlSeconds: string
  readonly maxAttempts: string
  readonly idempotencyKey: string
}

export const PRIORITIES = [{ value: '1', text: 'High' }, { value: '0', text: 'Normal' }, { value: '-1', text: 'Low' }] as const

export const newSubmission = (idempotencyKey: string, payload = '{}'): Submission =>
  ({ payload, priority: '0', taskId: '', ttlSeconds: '', maxAttempts: '', idempotencyKey })

export function readSubmission(submission: Submission): { readonly body: TaskBody } | { readonly fault: string } {
  const payload = parseJson(submission.payload)
  if ('fault' in payload) return { fault: `Payload: ${payload.fault}` }
  if (!isObject(payload.value)) return { fault: 'Payload: expected a JSON object, for example {}' }
  const ttl = wholeNumber(submission.ttlSeconds)
  if (ttl === 'unreadable') return { fault: 'Time to live: expected a whole number of seconds, or nothing' }
  const attempts = wholeNumber(submission.maxAttempts)
  if (attempts === 'unreadable') return { fault: 'Attempts: expected a whole number, or nothing' }
  return {
    body: {
      payload: payload.value, priority: Number(submission.priority),
      ...(submission.taskId === '' ? {} : { task_id: submission.taskId }),
      ...(ttl === null ? {} : { ttl_seconds: ttl }),
      ...(attempts === null ? {} : { max_attempts: attempts }),
      ...(submission.idempotencyKey === '' ? {} : { idempotency_key: submission.idempotencyKey }),
    },
  }
}

const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value)

function wholeNumber(text: string): number | null | 'unreadable' {
  if (text.trim() === '') return null
  return /^\s*\d+\s*$/.test(text) ? Number(text) : 'unreadable'
}

export function resultText(result: SubmitResult): string {
  return result.queued ? `Queued as ${result.task_id}.` : `Not queued again: this is the task ${result.task_id}.`
}

/** 128 random bits as hex; `crypto.randomUUID` is missing on pages that came over plain http. */
export function randomKey(fill: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array): string {
  return [...fill(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** An object with an example of every required property, to start a payload from. */
export function payloadExample(schema: JsonObject | null): string {
  const properties = (schema?.['properties'] ?? {}) as Readonly<Record<string, Readonly<Record<string, unknown>>>>
  const required = Array.isArray(schema?.['required']) ? (schema['required'] as unknown[]) : []
  const entries = Object.entries(properties).filter(([name]) => required.includes(name)).map(([name, property]) => [name, exampleOf(property)])
  return JSON.stringify(Object.fromEntries(entries), null, 2)
}

function exampleOf(schema: Readonly<Record<string, unknown>>): unknown {
  if (schema['default'] !== undefined) return schema['default']
  if (Array.isArray(schema['examples']) && schema['examples'].length > 0) return schema['examples'][0]
  if (Array.isArray(schema['enum'])) return schema['enum'][0]
  const empty: Readonly<Record<string, unknown>> = { string: '', integer: 0, number: 0, boolean: false, array: [], object: {} }
  return empty[String(schema['type'])] ?? null
}
