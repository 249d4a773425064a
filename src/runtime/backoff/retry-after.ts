/**
 * @module runtime/backoff/retry-after
 * Reads the header `Retry-After` and turns it into a delay. A delay is never longer than {@link MAX_RETRY_AFTER_MS}: a
 * peer or a proxy that sends `Retry-After: 3600` by mistake must not stop a caller for an hour (D68).
 * @see RFC 9110 section 10.2.3
 */
import type { UnitRandom } from './ports.ts'

/** The longest wait that a header can cause. */
export const MAX_RETRY_AFTER_MS = 30_000
/** A delay is lengthened by at most this share, so that callers who received the same header do not return together. */
const JITTER = 0.25
/** From here on a longer delay would be above the cap, so the delay is drawn from here to the cap. */
const SPREAD_FROM_MS = MAX_RETRY_AFTER_MS / (1 + JITTER)

/**
 * Parses the header: whole seconds, or an HTTP date.
 *
 * @param nowMs The wall clock, in milliseconds since 1970; used for a date only.
 * @returns What the peer requested, in milliseconds, not capped; `undefined` when the header is missing or unreadable.
 */
export function parseRetryAfter(
  header: string | readonly string[] | null | undefined,
  nowMs: number,
): number | undefined {
  const text = (typeof header === 'string' ? header : header?.[0])?.trim()
  if (text === undefined) return undefined
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1_000, Number.MAX_SAFE_INTEGER)
  const ms = text.endsWith('GMT') ? Date.parse(text) - nowMs : Number.NaN
  return Number.isFinite(ms) ? Math.max(ms, 0) : undefined
}

/** The requested wait within the cap. */
export const cappedRetryAfterMs = (requestedMs: number): number =>
  Math.min(Math.max(requestedMs, 0), MAX_RETRY_AFTER_MS)

/**
 * The delay to use for a requested wait: up to 24 s, that time or at most 25 % longer; beyond it, between 24 s and 30
 * s.
 */
export function retryAfterDelayMs(requestedMs: number, random: UnitRandom): number {
  return Math.min(Math.max(requestedMs, 0), SPREAD_FROM_MS) * (1 + JITTER * random.unit())
}
