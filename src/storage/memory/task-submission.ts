/**
 * @module storage/memory/task-submission
 * Submits one task, unless its idempotency key, its id or its unique key is that of another one.
 */
import { RECORD_OVERHEAD } from './memory-budget.ts'
import { knownResult, QUEUED, QUEUE_FULL, storedIdOf } from '../index.ts'
import type { NewTask, SubmitItemResult } from '../index.ts'
import type { TaskQueue } from './task-queue.ts'

interface SubmitOptions {
  readonly now: number
  readonly idempotencyTtlMs: number
  readonly maxLength: number
  /** Whether a stored task makes one with its id a duplicate; false only in tests. */
  readonly checksPresence: boolean
}

/** What the keys of a new task count towards the size of the store. */
export function charsOfKeys({ key, id, unique }: NewTask): number {
  const idempotency = key === null ? 0 : RECORD_OVERHEAD + key.length + id.length
  return idempotency + (unique === undefined ? 0 : RECORD_OVERHEAD + unique.key.length)
}

/**
 * @param options `now`: the time of the call. `idempotencyTtlMs`: the window of a key without its own. `maxLength`: the
 *   most tasks of the queue. `checksPresence`: whether a known id is a duplicate.
 */
export function submitTask(queue: TaskQueue, task: NewTask, options: SubmitOptions): SubmitItemResult {
  const { now, idempotencyTtlMs } = options
  const first = task.key === null ? undefined : queue.keys.find(task.key, now)
  if (first !== undefined) return { kind: 'duplicate', duplicateOf: first }
  const result = queueTask(queue, task, options)
  if (task.key === null || result.kind === 'queue_full') return result
  const ends = now + (task.keyTtlMs ?? idempotencyTtlMs)
  queue.keys.record(task.key, storedIdOf(result, task), ends) // Also of a duplicate (D80).
  return result
}

function queueTask(queue: TaskQueue, task: NewTask, options: SubmitOptions): SubmitItemResult {
  const { now, maxLength, checksPresence } = options
  if (checksPresence && queue.isKnown(task.id)) return knownResult(task)
  const conflict = task.unique === undefined ? null : queue.unique.conflict(task.unique)
  if (conflict?.isReplaced === false) return { kind: 'duplicate', duplicateOf: conflict.task.id }
  if (conflict === null && queue.size >= maxLength) return QUEUE_FULL
  if (conflict !== null) queue.cancel(conflict.task)
  queue.submit(task, now)
  return conflict === null ? QUEUED : { kind: 'queued', replaced: conflict.task.id }
}
