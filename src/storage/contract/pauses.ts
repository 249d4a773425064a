/**
 * @module storage/contract/pauses
 * Defines pauses of task queues: while a queue is paused, reserves lease nothing. Everything else continues: submits,
 * settles, the sweep, and the promotion of due tasks.
 */
import type { EpochMs } from './common.ts'

/** A pause as it is requested. */
export interface NewPause {
  /** Why the queue is paused, 1 to 256 characters; `null` for no note. */
  readonly note: string | null
  /** Who paused it, 1 to 256 characters. */
  readonly actor: string
  /** The pause ends at this time without a call; `null`: only `resume` ends it. */
  readonly untilMs: EpochMs | null
}

/** A pause that was stored. */
export interface Pause extends NewPause {
  /** Since when the queue is paused without a gap. */
  readonly sinceMs: EpochMs
}

/** The pauses of the task queues. */
export interface Pauses {
  /**
   * Pauses a queue, or replaces its pause. A reserve after this call leases nothing until the pause ends. If the queue
   * is paused already, `sinceMs` stays.
   *
   * @param type The automation type.
   * @param pause Who pauses it, why and for how long. A pause whose `untilMs` has passed has no effect.
   * @returns the pause as it is stored.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   * @see D106
   */
  pause(type: string, pause: NewPause): Promise<Pause>
  /**
   * Ends the pause of a queue, and wakes the masters.
   *
   * @param type The automation type.
   * @returns false if the queue was not paused.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry; a repeat returns false.
   */
  resume(type: string): Promise<boolean>
}
