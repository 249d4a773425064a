/**
 * @module master/http/rate-limit
 * Limits requests per caller with a token bucket in the memory of this process. A bucket contains max(1, rps) tokens
 * (D21) and refills at rps a second. A batch takes one token per item. If it is larger than the bucket, a full bucket
 * goes into debt, so that large batches wait longer instead of never being accepted.
 *
 * At most 10,000 buckets are kept; the least recently used one is removed first. A removed bucket counts as full.
 */
import type { Clock } from '../../runtime/index.ts'

const MAX_BUCKETS = 10_000

interface Bucket {
  tokens: number
  atMs: number
}

export class RateLimiter {
  readonly #clock: Clock
  readonly #rps: number
  readonly #capacity: number
  readonly #buckets = new Map<string, Bucket>()

  /** @param rps Requests per second and caller; 0 means unlimited. */
  constructor(clock: Clock, rps: number) {
    this.#clock = clock
    this.#rps = rps
    this.#capacity = Math.max(1, rps)
  }

  /**
   * Takes `n` tokens of `key`.
   * @returns null if they were taken; otherwise the seconds, 1 or more, after which the same call is accepted.
   */
  take(key: string, n = 1): number | null {
    if (this.#rps === 0) return null
    const nowMs = this.#clock.monotonicMs()
    const bucket = this.#refilled(key, nowMs)
    const missing = Math.min(n, this.#capacity) - bucket.tokens
    if (missing > 1e-9) return Math.max(1, Math.ceil(missing / this.#rps))
    bucket.tokens -= n
    return null
  }

  get size(): number {
    return this.#buckets.size
  }

  #refilled(key: string, nowMs: number): Bucket {
    const bucket = this.#buckets.get(key) ?? { tokens: this.#capacity, atMs: nowMs }
    bucket.tokens = Math.min(this.#capacity, bucket.tokens + ((nowMs - bucket.atMs) / 1_000) * this.#rps)
    bucket.atMs = nowMs
    this.#buckets.delete(key) // Re-inserted at the end: the map is ordered by use.
    this.#buckets.set(key, bucket)
    const [oldest] = this.#buckets.size > MAX_BUCKETS ? this.#buckets.keys() : []
    if (oldest !== undefined) this.#buckets.delete(oldest)
    return bucket
  }
}
