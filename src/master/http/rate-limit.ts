/**
 * @module master/http/rate-limit
 * Limits requests per caller with a token bucket in the memory of this process. A bucket contains max(1, rps) tokens
 * (D21) and refills at rps a second. A batch takes one token per item. If it is larger than the bucket, a full bucket
 * goes into debt, so that large batches wait longer instead of never being accepted.
 *
 * At most 10,000 buckets are kept; the least recently used one is removed first. A removed bucket counts as full.
 */
import { BoundedMap, TokenBucket, type Clock, type TokenBucketOptions } from '../../runtime/index.ts'

const MAX_BUCKETS = 10_000

export class RateLimiter {
  readonly #clock: Clock
  readonly #rate: TokenBucketOptions
  readonly #buckets = new BoundedMap<string, TokenBucket>(MAX_BUCKETS)

  /** @param rps Requests per second and caller; 0 means unlimited. */
  constructor(clock: Clock, rps: number) {
    this.#clock = clock
    this.#rate = rateOf(rps)
  }

  /**
   * Takes `n` tokens of `key`.
   * @param rps The rate of this caller; if left out, that of the limiter. A bucket whose rate changes starts full.
   * @returns null if they were taken; otherwise the seconds, 1 or more, after which the same call is accepted.
   */
  take(key: string, n = 1, rps?: number): number | null {
    const rate = rps === undefined ? this.#rate : rateOf(rps)
    if (rate.perSecond === 0) return null
    const bucket = this.#bucketOf(rps === undefined ? key : `${key} ${rps}`, rate)
    const waitMs = bucket.waitMs(Math.min(n, rate.capacity))
    if (waitMs > 0) return Math.ceil(waitMs / 1_000)
    bucket.spend(n)
    return null
  }

  get size(): number {
    return this.#buckets.size
  }

  #bucketOf(key: string, rate: TokenBucketOptions): TokenBucket {
    const known = this.#buckets.use(key)
    if (known !== undefined) return known
    const made = new TokenBucket(this.#clock, rate)
    this.#buckets.set(key, made)
    return made
  }
}

const rateOf = (rps: number): TokenBucketOptions => ({ capacity: Math.max(1, rps), perSecond: rps })
