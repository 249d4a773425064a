/**
 * @module storage/memory/ledger
 * Counts the text a store holds, in characters with an allowance per record, so that a growing operation can be refused
 * before the process runs out of memory. What shrinks the store, or must never be refused, only reports.
 */
import { FleetError } from '../../protocol/index.ts'

/** About what the objects around one record take. */
export const RECORD = 256

export class Ledger {
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
    if (this.#used + amount > this.#limit) throw storageFull(`the store holds its limit of ${this.#limit} characters`)
  }

  add(amount: number): void {
    this.#used += amount
  }
}

export function storageFull(what: string): FleetError {
  return new FleetError('STORAGE_FULL', `${what}; remove something, or use a backend with more room`, {
    outcome: 'not_sent',
    retryAfterSeconds: 10,
  })
}
