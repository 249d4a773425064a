/**
 * @module worker/prefetch
 * How many leases to hold beyond the free slots. A slot whose task takes microseconds would otherwise idle for a round
 * trip per task; a slot whose task takes seconds needs nothing in advance, and a task held for it would wait here while
 * another worker is free. So: as many as the slots take during two round trips, and never more than a few per slot, each
 * of which then waits for no more than that many short runs.
 */

/** Leases ahead of each slot. One is too few for tasks of microseconds: the slots then idle for every round trip. */
const MOST_PER_SLOT = 4
const WINDOW_MS = 20
/** Share of the newest measurement in the running mean. */
const WEIGHT = 0.5

export class Prefetch {
  #takenPerMs = 0
  #roundTripMs = 0
  #taken = 0
  #sinceMs: number

  constructor(nowMs: number) {
    this.#sinceMs = nowMs
  }

  /** The most leases that may be held ready for `slots` slots. */
  static most(slots: number): number {
    return MOST_PER_SLOT * slots
  }

  /** Leases to hold ready for `slots` slots, as fast as they take them now. */
  depth(slots: number): number {
    return Math.min(Prefetch.most(slots), Math.floor(2 * this.#roundTripMs * this.#takenPerMs))
  }

  /** A slot took a task. */
  taken(): void {
    this.#taken += 1
  }

  /** A reserve was answered after `tookMs`. `full`: with all that was asked for, so that it did not wait for arrivals. */
  recordResponse(nowMs: number, tookMs: number, full: boolean): void {
    if (full) this.#roundTripMs += WEIGHT * (tookMs - this.#roundTripMs)
    const elapsedMs = nowMs - this.#sinceMs
    if (elapsedMs < WINDOW_MS) return
    this.#takenPerMs += WEIGHT * (this.#taken / elapsedMs - this.#takenPerMs)
    this.#taken = 0
    this.#sinceMs = nowMs
  }
}
