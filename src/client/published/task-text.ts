/**
 * @module client/published/task-text
 * Creates the JSON text of a task, and the names by which the master recognises its repetition.
 */
import type { TaskBody } from '../../protocol/index.ts'
import { webRandom, webTime } from '../../runtime/web/index.ts'
import type { NewTask, SubmittedTask } from './api.ts'

/** How submits are made safe to repeat. */
export interface Repetition {
  /** Whether a submit without a key gets one of its own. */
  readonly dedupe: boolean
  /** How long a key has to be remembered for a repetition to be recognised, in seconds. */
  readonly windowSeconds: number
}

/** A task that is ready to be sent. */
export interface TaskText {
  readonly id: string
  readonly text: string
  /** Bytes of UTF-8. */
  readonly bytes: number
  /** Whether the master recognises a second submit of it, even after the task is finished. */
  readonly isRepeatable: boolean
}

type TaskRetryBody = NonNullable<TaskBody['retry']>
/** JSON has no field whose value is undefined. */
type OrUndefined<T> = { [Field in keyof T]: T[Field] | undefined }

const ENCODER = new TextEncoder()
// oxlint-disable-next-line no-control-regex -- every ASCII character
const ASCII = /^[\x00-\x7f]*$/

/**
 * Creates the text of a task.
 * @param task As the caller describes it.
 * @param options `dedupe`: whether it gets a key of its own. `windowSeconds`: how long a key has to be remembered.
 * @throws {TypeError} when the payload cannot be written as JSON.
 */
export function taskText(task: NewTask<unknown>, { dedupe, windowSeconds }: Repetition): TaskText {
  const drawn = timedUuid(webTime.wallMs())
  const { id = drawn, idempotencyKey, idempotencyTtlSeconds } = task
  const hasDrawnKey = idempotencyKey === undefined && dedupe
  const key = hasDrawnKey ? drawn : idempotencyKey
  const keySeconds = hasDrawnKey ? windowSeconds : idempotencyTtlSeconds
  const body: OrUndefined<Omit<TaskBody, 'retry'>> & { retry: OrUndefined<TaskRetryBody> | undefined } = {
    payload: task.payload as TaskBody['payload'],
    task_id: id,
    priority: task.priority,
    ttl_seconds: task.ttlSeconds,
    delay_seconds: task.delaySeconds,
    not_before: task.notBefore === undefined ? undefined : task.notBefore.getTime() / 1_000,
    max_attempts: task.maxAttempts,
    labels: task.labels,
    retry: task.retry && {
      base_seconds: task.retry.baseSeconds,
      factor: task.retry.factor,
      cap_seconds: task.retry.capSeconds,
    },
    traceparent: task.traceparent,
    tracestate: task.tracestate,
    idempotency_key: key,
    idempotency_ttl_seconds: keySeconds,
    retain_seconds: task.retainSeconds,
    unique_key: task.uniqueKey,
    unique_until: task.uniqueUntil,
    on_conflict: task.onConflict,
    group_key: task.groupKey,
  }
  const text = JSON.stringify(body)
  const bytes = ASCII.test(text) ? text.length : ENCODER.encode(text).length
  return { id, text, bytes, isRepeatable: key !== undefined && (keySeconds ?? Infinity) >= windowSeconds }
}

/**
 * Returns what became of a task. A duplicate of the very ID that was sent is the repetition of a submit, unless the
 * caller chose the ID.
 * @param task The task that was sent.
 * @param hasOwnId Whether the caller chose the ID.
 * @param result The result of the master.
 */
export function submittedTask(
  task: TaskText,
  hasOwnId: boolean,
  result: { readonly task_id: string; readonly queued: boolean; readonly replaced?: string },
): Omit<SubmittedTask, 'result'> {
  const isDuplicate = !result.queued && (hasOwnId || result.task_id !== task.id)
  return { id: result.task_id, isDuplicate, ...(result.replaced !== undefined && { replacedId: result.replaced }) }
}

/** A UUID of version 7 (RFC 9562), as hex. It begins with the time, like the IDs that the master draws. */
function timedUuid(nowMs: number): string {
  const variant = '89ab'.charAt(Number.parseInt(webRandom.hex(1), 16) % 4)
  return `${Math.floor(nowMs).toString(16).padStart(12, '0')}7${webRandom.hex(3)}${variant}${webRandom.hex(15)}`
}
