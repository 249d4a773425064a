/**
 * @module storage/contract/dead-letters
 * Defines the dead-letter queue of each automation type: it keeps the tasks that have failed for good, until they are
 * replayed or removed.
 */
import type { JsonText } from '../../protocol/index.ts'
import type { RunHistory } from './attempts.ts'
import type { EpochMs, PerItem } from './common.ts'

/** A dead task as it is listed. */
export interface DeadRow extends RunHistory {
  readonly id: string
  /** Failed runs. */
  readonly attempt: number
  readonly maxAttempts: number
  /** At most 4,096 characters. */
  readonly lastError: string | null
  readonly diedAtMs: EpochMs
  readonly body: JsonText
}

/** Dead tasks, oldest death first. */
export interface DeadPage {
  /** All dead tasks of the type. */
  readonly length: number
  readonly items: readonly DeadRow[]
  /** The `after` of the next call, if this one ended early at `bytes`; omitted otherwise. */
  readonly next?: number
}

/** The dead tasks of the task queues. The rules of `Tasks` for lists and `bytes` apply. */
export interface DeadLetters {
  /**
   * Lists dead tasks, oldest death first.
   *
   * @param type The automation type.
   * @param n At most this many tasks, 1 to 10,000.
   * @param bytes Ends the page early, 1 to 32 MiB; 32 MiB if omitted.
   * @param after The `next` of an earlier call, which is the number of a death; from the oldest death if omitted.
   * @returns `items` is empty if no task is dead, or none behind `after`.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  dead(type: string, n: number, bytes?: number, after?: number): Promise<DeadPage>
  /**
   * Moves dead tasks to the back of the normal tier, oldest death first. Attempt and lost leases are 0, the ttl starts
   * again.
   *
   * @param type The automation type.
   * @param n At most this many tasks, 1 to 500.
   * @param newestDeath The number of the last death to replay, as `newestDeath` returned it; every dead task if
   *   omitted.
   * @param replay The id under which the ends of the tasks are counted (replays.ts).
   * @returns how many were replayed; less than `n` if no more matched.
   * @throws {FleetError} STORAGE_UNAVAILABLE. If the outcome is unknown, a retry may replay up to `n` further tasks.
   * @see D84
   */
  replay(type: string, n: number, newestDeath?: number, replay?: string): Promise<number>
  /**
   * Returns the death number of the newest dead task. Deaths are numbered in their order.
   *
   * @param type The automation type.
   * @returns 0 or any earlier number if no task is dead.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  newestDeath(type: string): Promise<number>
  /**
   * Removes all dead tasks in one step. Their ids may be used again.
   *
   * @param type The automation type.
   * @returns how many were removed.
   * @throws {FleetError} STORAGE_UNAVAILABLE. A retry also removes tasks that died meanwhile.
   */
  clearDead(type: string): Promise<number>
  /**
   * Replays or removes the named dead tasks, in the given order.
   *
   * @param type The automation type.
   * @param action `replay` makes the tasks pending, as the method `replay` does; `remove` deletes them.
   * @param ids 1 to 500 task ids.
   * @param replay For a replay alone: the id under which the ends of the tasks are counted (replays.ts).
   * @returns `not_dead` if the task is not in the dead-letter queue, also at the second mention of an id.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry; a repeat returns `not_dead`.
   * @see D50
   */
  applyToDead(
    type: string,
    action: 'replay' | 'remove',
    ids: readonly string[],
    replay?: string,
  ): PerItem<'replayed' | 'removed' | 'not_dead'>
}
