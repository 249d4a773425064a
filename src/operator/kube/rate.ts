/** @module operator/kube/rate  Implements a token bucket that refills evenly and starts full. */
import type { Clock } from '../../runtime/index.ts'

export class Rate {
  readonly #clock: Clock
  readonly #burst: number
  readonly #perMs: number
  #permits: number
  #atMs: number

  constructor(clock: Clock, burst: number, perSecond: number) {
    this.#clock = clock
    this.#burst = burst
    this.#perMs = perSecond / 1_000
    this.#permits = burst
    this.#atMs = clock.monotonicMs()
  }

  /** Takes a permit. @returns false if there is none yet. */
  take(): boolean {
    this.#refill()
    if (this.#permits < 1) return false
    this.#permits -= 1
    return true
  }

  /** @returns milliseconds until the next permit; 0 if there is one. */
  waitMs(): number {
    this.#refill()
    return this.#permits >= 1 ? 0 : Math.ceil((1 - this.#permits) / this.#perMs)
  }

  get isFull(): boolean {
    this.#refill()
    return this.#permits >= this.#burst
  }

  #refill(): void {
    const nowMs = this.#clock.monotonicMs()
    // Rounded to a billionth. Otherwise 1 ms short of a permit could stay short forever.
    this.#permits = Math.min(this.#burst, Math.round((this.#permits + (nowMs - this.#atMs) * this.#perMs) * 1e9) / 1e9)
    this.#atMs = nowMs
  }
}
