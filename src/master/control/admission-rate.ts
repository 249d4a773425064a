/**
 * @module master/control/admission-rate
 * Adapts the number of handshakes that are admitted in a tick of 20 ms to the delay of the event loop. The budget
 * starts at 20 and stays between 2 and 200, which is 100 to 10,000 handshakes a second.
 *
 *   longest delay of the last 100 ms:   below 20 ms: + 10 %      20 to 50 ms: unchanged      above 50 ms: half
 *
 * After a cut the measurement begins anew, so that one long pause halves the budget once.
 */
export const TICK_MS = 20
export const FIRST_BUDGET = 20
export const MIN_BUDGET = 2
export const MAX_BUDGET = 200

const WINDOW_TICKS = 5
const CALM_MS = 20
const LATE_MS = 50
const GROWTH = 1.1

export class AdmissionRate {
  #budget = FIRST_BUDGET
  #delaysMs: number[] = []

  /** Handshakes that may be admitted in a tick. */
  get budget(): number {
    return Math.floor(this.#budget)
  }

  get perSecond(): number {
    return (this.budget * 1_000) / TICK_MS
  }

  /**
   * Adapts the budget after a tick in which handshakes waited.
   * @param delayMs The longest delay of the event loop in this tick.
   */
  adapt(delayMs: number): void {
    this.#delaysMs.push(delayMs)
    if (this.#delaysMs.length > WINDOW_TICKS) this.#delaysMs.shift()
    const longestMs = Math.max(...this.#delaysMs)
    if (longestMs < CALM_MS) this.#budget = Math.min(MAX_BUDGET, this.#budget * GROWTH)
    if (longestMs <= LATE_MS) return
    this.#budget = Math.max(MIN_BUDGET, this.#budget / 2)
    this.#delaysMs = []
  }

  /** Starts at the first budget, because the load of the next storm is not known. */
  reset(): void {
    this.#budget = FIRST_BUDGET
    this.#delaysMs = []
  }
}
