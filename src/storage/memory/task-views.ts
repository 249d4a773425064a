/**
 * @module storage/memory/task-views
 * Shows one task as the contract returns it.
 */
import { attemptsOf } from '../index.ts'
import type { ListedTask, TaskPlace, TaskState } from '../index.ts'
import type { Task } from './task.ts'

/** A task as a list of its place shows it. */
export function listedTask(task: Task, place: TaskPlace): ListedTask {
  const { id, attempt, body, until, due, diedAtMs, worker, lastError } = task
  const atMs = { pending: null, in_flight: until, scheduled: due?.rank ?? null, dead: diedAtMs }[place]
  return {
    id,
    attempt,
    atMs,
    worker: place === 'in_flight' ? worker : null,
    error: place === 'dead' ? lastError : null,
    body,
  }
}

/** Where a task is; null if it is not stored. */
export function placeOf(task: Task | undefined): TaskPlace | null {
  return task === undefined || task.place === 'cancelled' ? null : task.place
}

/** What is known of a task; null if it is not stored. */
export function stateOf(task: Task | undefined): TaskState | null {
  if (task === undefined || task.place === 'cancelled') return null
  const { place, attempt, diedAtMs, lastError, attempts, progress } = task
  const history = { ...attemptsOf(attempts), ...(progress !== null && { progress }) }
  return place === 'dead'
    ? { kind: 'dead', attempt, diedAtMs, lastError, ...history }
    : { kind: 'stored', place, ...history }
}
