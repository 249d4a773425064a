/** @module worker/retry-after  The header `Retry-After` as milliseconds. @see RFC 9110 section 10.2.3 */

/** A longer wait is not honoured: the master asks for seconds, and a worker should not be sent away for hours. */
const LONGEST_MS = 60_000

/** 0 when the header is missing or unreadable; at most a minute. */
export function retryAfterMs(header: string | readonly string[] | undefined, nowMs: number): number {
  const text = typeof header === 'string' ? header : header?.[0]
  if (text === undefined) return 0
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : text.endsWith('GMT') ? Date.parse(text) - nowMs : 0
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), LONGEST_MS) : 0
}
