/**
 * @module storage/contract/outcomes
 * Defines what is retained of finished tasks. A task with `retainMs` leaves an outcome when it is acknowledged or
 * cancelled, or when its ttl ends; a task that died is in the dead-letter queue instead. Outcomes are bounded by number
 * and bytes.
 *
 * An outcome is written once, in the step that ends the task (G29). Until it expires, its id counts as known.
 */
import type { JsonText } from '../../protocol/index.ts'
import type { RunHistory, TaskHistory } from './attempts.ts'
import type { EpochMs, LeaseRef, PerItem } from './common.ts'

/** What a run returned. `too_large`: it had more than 64 KiB, and was omitted. */
export type RunResult = { readonly kind: 'json'; readonly text: JsonText } | { readonly kind: 'too_large' }

/** An ack. The result is retained if the task is. */
export interface DoneTask extends LeaseRef {
  readonly result?: RunResult
}

/** A finished task. */
export interface Outcome extends RunHistory {
  /** `expired`: its ttl ended before a worker reserved it. */
  readonly kind: 'done' | 'expired' | 'cancelled'
  readonly finishedAtMs: EpochMs
  /** The outcome is forgotten then, or earlier if there are too many. */
  readonly retainedUntilMs: EpochMs
  /** Failed runs; 0 if it was cancelled. */
  readonly attempt: number
  /** The worker that acknowledged the task; `null` if it expired or was cancelled. */
  readonly worker: string | null
  /** Who cancelled the task; omitted of others. */
  readonly actor?: string
  /** `null`: the run returned none. */
  readonly result: RunResult | null
}

/** How a task ended, as its outcome shows it. */
export type EndOfTask = Pick<Outcome, 'kind' | 'worker' | 'actor' | 'result'>

/** A dead task, without its body. */
export interface Death extends TaskHistory {
  readonly kind: 'dead'
  readonly diedAtMs: EpochMs
  readonly attempt: number
  readonly lastError: string | null
}

/** A task that has not finished. */
interface StoredTask extends TaskHistory {
  readonly kind: 'stored'
  readonly place: 'pending' | 'in_flight' | 'scheduled'
}

/** What is known of a task. */
export type TaskState = StoredTask | Death | Outcome

/** The outcomes of the task queues. */
export interface Outcomes {
  /**
   * Reads what is known of tasks.
   *
   * @param type The automation type.
   * @param ids 1 to 500 task ids.
   * @param bytes Ends the list early, 1 to 32 MiB; 32 MiB if omitted. It has at least one entry.
   * @returns the states of the first ids; `null` for a task that is not known: never submitted, or finished
   *   without an outcome that is still retained.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   * @see D110
   */
  describe(type: string, ids: readonly string[], bytes?: number): PerItem<TaskState | null>
}
