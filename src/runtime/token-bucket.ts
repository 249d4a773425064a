/** @module runtime/token-bucket  Limits a rate and permits bursts (token bucket). */
import type { Clock } from './clock.ts'

/** Tolerance of rounding errors. Otherwise a caller that waits for exactly `waitMs` could find 0.9999… tokens. */
const EPSILON = 1e-9

export interface TokenBucketOptions {
  /** The largest number of tokens, above 0: the size of a burst. */
  readonly capacity: number
  /** Tokens added per second, above 0. */
  readonly perSecond: number
}

/**
 * A bucket of tokens that starts full and refills evenly. A caller either takes tokens only if there are enough
 * (`take`), or spends what it has already used and lets the bucket go into debt (`spend`); `waitMs` returns how long
 * the debt lasts. It has no timer: the tokens are calculated from the clock.
 *
 * With a capacity of 10 and 1 token per second, 10 calls of `take` succeed immediately, and then one each second.
 */
export class TokenBucket {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #options: TokenBucketOptions
  #tokens: number
  #atMs: number

  /** @param options Not copied: thousands of buckets can share one object. */
  constructor(clock: Pick<Clock, 'monotonicMs'>, options: TokenBucketOptions) {
    this.#clock = clock
    this.#options = options
    this.#tokens = options.capacity
    this.#atMs = clock.monotonicMs()
  }

  /** Takes one token. @returns false if there is none yet; nothing was taken. */
  take(): boolean {
    if (this.waitMs() > 0) return false
    this.#tokens -= 1
    return true
  }

  /** Takes `count` tokens, also if there are fewer: the bucket then has a debt, which is refilled first. */
  spend(count: number): void {
    this.#refill()
    this.#tokens -= count
  }

  /**
   * @param count 0 or more, at most the capacity; 0 waits for the end of a debt.
   * @returns milliseconds until the bucket contains `count` tokens; 0 if it does now.
   */
  waitMs(count = 1): number {
    this.#refill()
    const missing = count - this.#tokens
    return missing <= EPSILON ? 0 : Math.ceil((missing / this.#options.perSecond) * 1_000)
  }

  /** Whether no token is missing, so that the bucket equals a new one. */
  get isFull(): boolean {
    this.#refill()
    return this.#tokens >= this.#options.capacity - EPSILON
  }

  #refill(): void {
    const { capacity, perSecond } = this.#options
    const nowMs = this.#clock.monotonicMs()
    this.#tokens = Math.min(capacity, this.#tokens + ((nowMs - this.#atMs) / 1_000) * perSecond)
    this.#atMs = nowMs
  }
}
