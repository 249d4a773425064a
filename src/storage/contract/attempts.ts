/**
 * @module storage/contract/attempts
 * Defines what is kept of the runs of a task that did not finish it: the newest failed runs and lost leases, until the
 * task has ended (D115). Nothing is kept of a task that neither fails nor loses its lease. Also defines the
 * progress that a run reports (D114).
 */
import type { JsonText } from '../../protocol/index.ts'
import type { EpochMs } from './common.ts'

/** A run that did not finish its task. */
export interface FailedAttempt {
  /** `failed`: its worker sent a nack. `lease_lost`: the deadline of its lease passed. */
  readonly kind: 'failed' | 'lease_lost'
  /** Failed runs of the task, this one included. A lost lease is no failed run. */
  readonly attempt: number
  /** When the run failed, or when a sweep noticed that the lease was lost. */
  readonly atMs: EpochMs
  /** At most 256 characters; `null` for a lost lease. */
  readonly error: string | null
  /** The worker that had the task. */
  readonly worker: string
}

/** What is known of the runs of a task. */
export interface RunHistory {
  /** The newest five that did not finish the task, oldest first. A replay keeps them. Omitted if there is none. */
  readonly attempts?: readonly FailedAttempt[]
}

/** The newest progress that a run of a task reported, of this run or an earlier one. */
export interface Progress {
  readonly text: JsonText
  readonly atMs: EpochMs
}

/** What is known of a task that has not ended. */
export interface TaskHistory extends RunHistory {
  /** Kept by retries and replays. Omitted if no run has reported any. */
  readonly progress?: Progress
}
