/**
 * @module storage/item-results
 * Defines the results of single items that have no data of their own. Backends return these objects, so a call does not
 * allocate one per item.
 */
import type {
  CancelResult,
  ExtendLeaseResult,
  Lease,
  LeaseLost,
  NewTask,
  Outcome,
  SubmitItemResult,
} from './backend.ts'

export const QUEUED = Object.freeze({ kind: 'queued' } as const) satisfies SubmitItemResult
export const QUEUE_FULL = Object.freeze({ kind: 'queue_full' } as const) satisfies SubmitItemResult
/** The result of submitting a task whose id is known. An id that was drawn for this call names this very task. */
export const knownResult = ({ id, ownId }: Pick<NewTask, 'id' | 'ownId'>): SubmitItemResult =>
  ownId ? { kind: 'duplicate', duplicateOf: id } : QUEUED
/** The id that the idempotency key of a submitted task names. */
export const storedIdOf = (result: SubmitItemResult, { id }: Pick<NewTask, 'id'>): string =>
  result.kind === 'duplicate' ? result.duplicateOf : id

/** The results of cancelling a task that was not in flight, by the place where it was. */
export const CANCELLED = Object.freeze({
  pending: Object.freeze({ kind: 'cancelled', was: 'pending' } as const),
  scheduled: Object.freeze({ kind: 'cancelled', was: 'scheduled' } as const),
}) satisfies Readonly<Record<string, CancelResult>>
export const DEAD = Object.freeze({ kind: 'dead' } as const) satisfies CancelResult
export const NOT_FOUND = Object.freeze({ kind: 'not_found' } as const) satisfies CancelResult

const FINISHED = {
  done: Object.freeze({ kind: 'finished', as: 'done' } as const),
  expired: Object.freeze({ kind: 'finished', as: 'expired' } as const),
  cancelled: Object.freeze({ kind: 'finished', as: 'cancelled' } as const),
} satisfies Readonly<Record<Outcome['kind'], CancelResult>>

/** The result of cancelling a task that is not stored. @param kind Of its outcome; undefined if none is retained. */
export const finishedAs = (kind: Outcome['kind'] | undefined): CancelResult =>
  kind === undefined ? NOT_FOUND : FINISHED[kind]

/** What a lease of a retained task has beside the others (D110). */
export const RETAINED = Object.freeze({ isRetained: true } as const) satisfies Pick<Lease, 'isRetained'>

/** The results of extending a lease, a claim or a lock that does not count any more. */
export const EXTEND_LOST = Object.freeze({
  lease_lost: Object.freeze({ kind: 'lease_lost' } as const),
  not_issued: Object.freeze({ kind: 'not_issued' } as const),
}) satisfies Readonly<Record<LeaseLost, ExtendLeaseResult>>
