/**
 * @module master/http/rate-limit
 * One token bucket per caller, in the memory of this process. A bucket holds max(1, rps) tokens (D21) and refills at
 * rps a second. A batch takes its whole length at once: from a bucket that is full enough to start, going into debt
 * where the batch is larger than the bucket, so that large batches wait longer instead of never passing.
 *
 * 10,000 buckets are kept, least recently used out first; a forgotten bucket is a full one.
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

  /** @param rps requests a second and caller; 0: unlimited. */
  constructor(clock: Clock, rps: number) {
    this.#clock = clock
    this.#rps = rps
    this.#capacity = Math.max(1, rps)
  }

  /**
   * Takes `n` tokens of `key`.
   * @returns null when they were taken; otherwise whole seconds, 1 or more, after which the same call passes.
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
