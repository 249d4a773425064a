/** @module runtime/backoff/retry-delay  Calculates the delay before a failed task is tried again (D25). */

/** The longest delay before a retry grows from `baseMs` by `factor` with each failed run, up to `capMs`. */
export interface RetryPolicy {
  /** 0 to 86,400,000. */
  readonly baseMs: number
  /** 1 or more. */
  readonly factor: number
  /** 0 to 86,400,000. */
  readonly capMs: number
}

/**
 * Exponential backoff with full jitter: ⌊jitter · min(capMs, baseMs · factor^attempt)⌋.
 *
 * @param attempt Failed runs before the one that is retried.
 * @param jitter In [0, 1).
 */
export function retryDelayMs({ baseMs, factor, capMs }: RetryPolicy, attempt: number, jitter: number): number {
  const growth = Math.min(factor ** attempt, Number.MAX_VALUE) // Because 0 · Infinity is not a number.
  return Math.floor(jitter * Math.min(capMs, baseMs * growth))
}
