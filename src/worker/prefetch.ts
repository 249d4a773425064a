/**
 * @module worker/prefetch
 * Calculates how many leases to hold beyond the free slots. Without prefetching, a slot whose tasks take microseconds
 * idles for one round trip per task. With too much of it, tasks of several seconds wait here while another worker is
 * idle. The depth is the number of tasks that the slots take during two round trips, up to 4 per slot.
 */

/**
 * Maximum number of prefetched leases per slot. With 1, slots idle in every round trip when tasks take microseconds.
 */
const MAX_PER_SLOT = 4
const WINDOW_MS = 20
/** Weight of the newest measurement in the moving average. */
const WEIGHT = 0.5

export class Prefetch {
  #takenPerMs = 0
  #roundTripMs = 0
  #taken = 0
  #sinceMs: number

  constructor(nowMs: number) {
    this.#sinceMs = nowMs
  }

  /** Maximum number of prefetched leases for `slots` slots. */
  static maxFor(slots: number): number {
    return MAX_PER_SLOT * slots
  }

  /** Number of leases to prefetch for `slots` slots at their current rate. */
  depth(slots: number): number {
    return Math.min(Prefetch.maxFor(slots), Math.floor(2 * this.#roundTripMs * this.#takenPerMs))
  }

  /** Records that a slot took a task. */
  taken(): void {
    this.#taken += 1
  }

  /**
   * Records a reserve that took `tookMs`. @param full whether it returned as many tasks as requested, so that it did
   * not wait for new ones.
   */
  recordResponse(nowMs: number, tookMs: number, full: boolean): void {
    if (full) this.#roundTripMs += WEIGHT * (tookMs - this.#roundTripMs)
    const elapsedMs = nowMs - this.#sinceMs
    if (elapsedMs < WINDOW_MS) return
    this.#takenPerMs += WEIGHT * (this.#taken / elapsedMs - this.#takenPerMs)
    this.#taken = 0
    this.#sinceMs = nowMs
  }
}
