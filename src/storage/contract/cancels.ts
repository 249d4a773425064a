/**
 * @module storage/contract/cancels
 * Defines the cancelling of tasks: one step removes a task from the place where it is, also while a worker runs it.
 */
import type { Outcome } from './outcomes.ts'
import type { LeaseRef, PerItem, Token } from './common.ts'

/** A lease that a cancel has ended. */
export interface CancelledLease extends LeaseRef {
  readonly worker: string
}

/**
 * The result of cancelling one task. `cancelled`: it was in the place `was` and is removed; of a task in flight with
 * the worker and the token of the lease that ended. `dead`: it is in the dead-letter queue and stays there.
 * `finished`: the task has ended before, and its outcome is retained. `not_found`: no task with this id is known, or an
 * earlier item of the call named it.
 */
export type CancelResult =
  | { readonly kind: 'cancelled'; readonly was: 'pending' | 'scheduled' }
  | { readonly kind: 'cancelled'; readonly was: 'in_flight'; readonly worker: string; readonly token: Token }
  | { readonly kind: 'dead' }
  | { readonly kind: 'finished'; readonly as: Outcome['kind'] }
  | { readonly kind: 'not_found' }

/** The cancelling of the tasks of the task queues. */
export interface Cancels {
  /**
   * Removes tasks that are not dead. A cancelled task is never leased again, and its lease ends: no ack, release, nack
   * or extend of it succeeds (G28). If the task is retained, it leaves an outcome. Otherwise its id may be used again,
   * and is then a new task at the back of its tier. Its idempotency key stays.
   *
   * @param type The automation type.
   * @param ids 1 to 500 task ids.
   * @param actor Who cancels them, for the outcomes; 1 to 256 characters.
   * @param maxOutcomes Maximum number of outcomes of the type, as for `ack`.
   * @returns one per id, in order.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry; a repeat returns `finished`, or `not_found` if the task
   *   was not retained.
   * @see D109, D117
   */
  cancel(type: string, ids: readonly string[], actor: string, maxOutcomes?: number): PerItem<CancelResult>
}
