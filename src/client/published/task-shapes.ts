/**
 * @module client/published/task-shapes
 * Shows tasks, pauses and outputs of the master with the names of the published client, and times as `Date` objects.
 */
import type { DeadBody, OutputEntry as WireEntry, QueueBody, TaskListBody, TaskPlace } from '../../protocol/index.ts'
import type { DeadTask, ListedTask, OutputEntry, Pause, QueuedTask, TaskState } from './api.ts'
import { dateOf } from './shown.ts'

/** Returns a pause. @param paused The pause that the master returned; undefined if there is none. */
export function pauseOf(paused: QueueBody['paused']): Pause | null {
  if (paused === undefined) return null
  const { note, actor, since, until } = paused
  return { note, actor, since: dateOf(since), until: dateOrNull(until) }
}

/** Returns a pending task. @param item The task that the master returned. */
export function queuedTask<Payload>(item: QueueBody['items'][number]): QueuedTask<Payload> {
  const { id, payload, attempt, priority, submitted_at: submittedAt, not_before: notBefore, labels = {} } = item
  return {
    id,
    payload: payload as Payload,
    attempt,
    priority,
    submittedAt: dateOf(submittedAt),
    notBefore: dateOrNull(notBefore),
    labels,
  }
}

/** Returns a task of a list. @param item The task that the master returned. */
export function listedTask<Payload>(item: TaskListBody['items'][number]): ListedTask<Payload> {
  const { task_id: id, place, worker_id: workerId = null, error: lastError = null } = item
  const at = dateOrNull(item.lease_expires_at ?? item.due_at ?? item.finished_at)
  return { ...queuedTask<Payload>({ ...item, id }), place, workerId, at, lastError }
}

/** Returns a task as the client shows it. @param task The state that the master returned. */
export function taskState(task: TaskPlace): TaskState {
  const { task_id: id, place, attempts = [], progress, progress_at: progressAt } = task
  return {
    id,
    place,
    attempts: attempts.map(({ at, worker_id: workerId, ...attempt }) => ({ ...attempt, at: dateOf(at), workerId })),
    ...(progressAt !== undefined && { progress, progressAt: dateOf(progressAt) }),
  }
}

/** Returns a dead task as the client shows it. @param item The task that the master returned. */
export function deadTask<Payload>(item: DeadBody['items'][number]): DeadTask<Payload> {
  const { max_attempts: maxAttempts, last_error: lastError, died_at: diedAt } = item
  return { ...queuedTask<Payload>(item), maxAttempts, lastError, diedAt: dateOf(diedAt) }
}

/** Returns an output. @param entry The entry that the master returned. */
export function outputEntry<Output>(entry: WireEntry): OutputEntry<Output> {
  const { id, slot_id: slotId, worker_id: workerId, task_id: taskId, ts, payload } = entry
  return {
    gap: false,
    id,
    slotId,
    ...(workerId !== undefined && { workerId }),
    ...(taskId !== undefined && { taskId }),
    emittedAt: dateOf(ts),
    payload: payload as Output,
  }
}

const dateOrNull = (seconds: number | null = null): Date | null => (seconds === null ? null : dateOf(seconds))
