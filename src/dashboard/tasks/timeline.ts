/** @module dashboard/tasks/timeline  Lists what happened to a task, oldest first (D110, D115). */
import type { FailedAttempt, TaskPlace } from '../../protocol/index.ts'
import { actorText } from '../settings/actor.ts'
import type { ListedTask } from './task-text.ts'

/** The master keeps this many failed attempts (D115). */
const KEPT_ATTEMPTS = 5

/** One thing that happened to a task, or that it waits for. */
export interface TimelineStep {
  /** Seconds; null if the time is unknown. */
  readonly at: number | null
  readonly text: string
  /** The worker that it happened on; null if there was none. */
  readonly worker: string | null
  readonly error: string | null
  readonly kind: 'past' | 'bad' | 'next'
}

const step = (at: number | null, text: string, more: Partial<TimelineStep> = {}): TimelineStep => ({
  at,
  text,
  worker: null,
  error: null,
  kind: 'past',
  ...more,
})

/**
 * Lists the steps of a task. A fact that the master did not return is left out.
 *
 * @param state The state of the task.
 * @param listed The task as a list shows it; null if it is not known.
 * @returns the steps, oldest first; the last one is what the task waits for, or how it ended.
 */
export function timelineOf(state: TaskPlace, listed: ListedTask | null): readonly TimelineStep[] {
  const attempts = state.attempts ?? []
  return [
    ...(listed === null ? [] : [step(listed.submitted_at, 'Submitted')]),
    ...(listed?.not_before == null ? [] : [step(listed.not_before, 'Delayed until this time')]),
    ...(attempts.length < KEPT_ATTEMPTS ? [] : [step(null, `Only the newest ${KEPT_ATTEMPTS} failures are kept`)]),
    ...attempts.map(attemptStep),
    lastStep(state, listed),
  ]
}

function attemptStep({ attempt, at, kind, error, worker_id: worker }: FailedAttempt): TimelineStep {
  const text = kind === 'failed' ? `Run failed (failure ${attempt})` : 'Lease lost: the worker did not extend it'
  return step(at, text, { worker, error, kind: 'bad' })
}

/** What the task waits for, or how it ended. */
function lastStep(state: TaskPlace, listed: ListedTask | null): TimelineStep {
  const { place, finished_at: finishedAt = null, worker_id: worker = null } = state
  const current = listed?.place === place ? listed : null // The list may be older than the state.
  switch (place) {
    case 'pending':
      return step(null, 'Waiting for a worker', { kind: 'next' })
    case 'scheduled':
      return step(current?.due_at ?? null, 'Queued again at this time', { kind: 'next' })
    case 'in_flight':
      return runningStep(current, worker)
    case 'done':
      return step(finishedAt, 'Completed', { worker })
    case 'expired':
      return step(finishedAt, 'Expired before a worker reserved it', { kind: 'bad' })
    case 'cancelled':
      return step(finishedAt, state.actor === undefined ? 'Cancelled' : `Cancelled by ${actorText(state.actor)}`)
    case 'dead':
      return deadStep(state)
  }
}

function runningStep(current: ListedTask | null, worker: string | null): TimelineStep {
  const text = 'Running; the lease ends at this time unless it is extended'
  return step(current?.lease_expires_at ?? null, text, { worker: current?.worker_id ?? worker, kind: 'next' })
}

/** The error is that of the last attempt, if the attempts are known. */
function deadStep({ finished_at: at, error = null, attempts }: TaskPlace): TimelineStep {
  return step(at ?? null, 'Moved to the dead letters', { error: attempts === undefined ? error : null, kind: 'bad' })
}
