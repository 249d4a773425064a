/**
 * @module storage/memory/memory-budget
 * Counts the text in a store, in characters plus an allowance per record. Operations that make the store grow are
 * rejected before the process runs out of memory. Operations that shrink it, or that must never be rejected, only
 * report their size.
 */
import { FleetError, TASKS_RESERVE } from '../../protocol/index.ts'

/** About what the objects around one record take, in characters. */
export const RECORD_OVERHEAD = 256

export class MemoryBudget {
  readonly #limit: number
  #used = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Nothing more fits. */
  get full(): boolean {
    return this.#used >= this.#limit
  }

  /** @throws FleetError STORAGE_FULL when `amount` more does not fit. */
  require(amount: number): void {
    if (this.#used + amount > this.#limit)
      throw storageFull(`the store has reached its limit of ${this.#limit} characters`)
  }

  /** Whether data that is not reserved for tasks may take so much more (D83). */
  fitsOptional(amount: number): boolean {
    return this.#used + amount <= this.#optionalLimit
  }

  /** As `require`, for outputs and values, which may not use the part that is reserved for tasks (D83). */
  requireForOptional(amount: number): void {
    if (this.fitsOptional(amount)) return
    throw storageFull(
      `the store contains ${this.#optionalLimit} characters; the rest of its ${this.#limit} is reserved for tasks`,
    )
  }

  add(amount: number): void {
    this.#used += amount
  }

  get #optionalLimit(): number {
    return Math.floor(this.#limit * (1 - TASKS_RESERVE))
  }
}

export function storageFull(what: string): FleetError {
  return new FleetError('STORAGE_FULL', `${what}; remove data, or use a backend with more capacity`, {
    outcome: 'not_sent',
    retryAfterSeconds: 10,
  })
}
