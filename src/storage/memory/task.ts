/**
 * @module storage/memory/task
 * Defines one task of the memory store.
 */
import { charsOfAttempts, expiryOf } from '../index.ts'
import { RECORD_OVERHEAD } from './memory-budget.ts'
import type { GroupNode } from './task-groups.ts'
import type { Timer } from './timer-queue.ts'
import type { FailedAttempt, NewTask, Progress, StoredAttempt, TaskPlace, Tier, UniqueKey } from '../index.ts'

/** About what the object of a failed attempt takes, in characters. */
const ATTEMPT_OVERHEAD = 64
/** Shared by all tasks that have not failed. */
const NO_ATTEMPTS: readonly FailedAttempt[] = []

export interface Task {
  readonly id: string
  readonly tier: Tier
  readonly ttlMs: number | null
  readonly ownMax: number | null
  /** How long its outcome is retained; `null`: not at all. */
  readonly retainMs: number | null
  readonly submitted: number
  /** The unique key that names this task; `null` if none does. */
  unique: Pick<UniqueKey, 'key' | 'until'> | null
  body: string
  place: TaskPlace | 'cancelled'
  /** The tier in which it waits, if it is pending. */
  line: Tier
  /** Its place in the ring of this tier. */
  at: number
  /** The name of its group; '' for the group `null`. */
  readonly group: string
  /** Its place in its group, if it is pending in a type with groups. */
  node: GroupNode | null
  /** When its ttl ends; `null`: never. */
  expiresAtMs: number | null
  attempt: number
  lost: number
  /** The newest attempts that failed. */
  attempts: readonly StoredAttempt[]
  /** Of the newest report of a run; null if there was none. */
  progress: Progress | null
  /** Of the newest lease; 0 before the first. */
  token: number
  /** The worker of the newest lease; '' before the first. */
  worker: string
  max: number
  until: number
  deadline: Timer<Task> | null
  /** Its timer while it is scheduled. */
  due: Timer<Task> | null
  lastError: string | null
  diedAtMs: number
}

/** What a task that has not run counts towards the size of the store. */
export const sizeOfNew = ({ id, body }: Pick<Task, 'id' | 'body'>): number => RECORD_OVERHEAD + id.length + body.length

export const sizeOf = (task: Task): number =>
  sizeOfNew(task) + sizeOfAttempts(task.attempts) + (task.progress?.text.length ?? 0)

const sizeOfAttempts = (attempts: readonly FailedAttempt[]): number =>
  attempts.length === 0 ? 0 : attempts.length * ATTEMPT_OVERHEAD + charsOfAttempts(attempts)

/** Creates a submitted task, which is in no structure yet. Its ttl counts from `dueAtMs`. */
export function newTask(submitted: NewTask, dueAtMs: number, place: 'pending' | 'scheduled'): Task {
  const { id, tier, ttlMs, maxAttempts, submittedAtMs, body } = submitted
  return {
    id,
    tier,
    ttlMs,
    ownMax: maxAttempts,
    retainMs: submitted.retainMs ?? null,
    submitted: submittedAtMs,
    unique: null,
    body,
    place,
    line: tier,
    at: 0,
    group: submitted.group ?? '',
    node: null,
    expiresAtMs: expiryOf(ttlMs, dueAtMs),
    attempt: 0,
    lost: 0,
    attempts: NO_ATTEMPTS,
    progress: null,
    token: 0,
    worker: '',
    max: 0,
    until: 0,
    deadline: null,
    due: null,
    lastError: null,
    diedAtMs: 0,
  }
}
