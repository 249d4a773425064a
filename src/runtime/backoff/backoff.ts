/** @module runtime/backoff/backoff  Exponential backoff with jitter. */
import type { UnitRandom } from './ports.ts'

export interface BackoffOptions {
  readonly baseMs: number
  readonly capMs: number
  readonly random: UnitRandom
  /** The share of the delay that jitter never removes: 0 is full jitter, 0.5 draws from [d/2, d]. */
  readonly floor?: number
}

/** A series of delays d = base, 2·base, 4·base … cap, each drawn from [floor·d, d]. */
export class Backoff {
  readonly #options: BackoffOptions
  #failures = 0

  constructor(options: BackoffOptions) {
    this.#options = options
  }

  /** The delay before the next try, in milliseconds. */
  nextMs(): number {
    const { baseMs, capMs, random, floor = 0 } = this.#options
    const delay = Math.min(capMs, baseMs * 2 ** Math.min(this.#failures, 30))
    this.#failures += 1
    return delay * (floor + (1 - floor) * random.unit())
  }

  /** Starts over at the base, after a success. */
  reset(): void {
    this.#failures = 0
  }
}
