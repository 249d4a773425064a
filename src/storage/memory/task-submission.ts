/**
 * @module storage/memory/task-submission
 * Submits one task, unless its idempotency key, its id or its unique key is that of another one.
 */
import { RECORD_OVERHEAD } from './memory-budget.ts'
import { QUEUED, QUEUE_FULL } from '../index.ts'
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
  const { now, idempotencyTtlMs, maxLength, checksPresence } = options
  const first = task.key === null ? undefined : queue.keys.find(task.key, now)
  if (first !== undefined) return { kind: 'duplicate', duplicateOf: first }
  const isKnown = checksPresence && queue.isKnown(task.id)
  const other = isKnown || task.unique === undefined ? undefined : queue.unique.conflict(task.unique.key)
  const replaces = other !== undefined && task.unique?.onConflict === 'replace' && other.place !== 'in_flight'
  if (!isKnown && other === undefined && queue.size >= maxLength) return QUEUE_FULL
  const isDuplicate = isKnown || (other !== undefined && !replaces)
  if (replaces) queue.cancel(other)
  if (!isDuplicate) queue.submit(task, now)
  const stored = isDuplicate ? (other?.id ?? task.id) : task.id
  const ends = now + (task.keyTtlMs ?? idempotencyTtlMs)
  if (task.key !== null) queue.keys.record(task.key, stored, ends) // Also of a duplicate (D80).
  if (isDuplicate && (task.ownId || !isKnown)) return { kind: 'duplicate', duplicateOf: stored }
  return replaces ? { kind: 'queued', replaced: other.id } : QUEUED
}
