/** @module dashboard/api/poll-interval  Computes when a query is polled again. */
import { isRefusalStatus, retryAfterDelayMs } from '../../runtime/backoff/index.ts'
import type { Problem } from './problem.ts'

/** Prevents the polls of many tabs from synchronizing. */
const JITTER = 0.1
/** Poll interval after an outage of the master or its store, so that data are current within 5 s of its end. */
const AGAIN_MS = 3_000

/** The delay until the next poll. Deterministic per query result, because the library calls it at every render. */
export function nextPollDelayMs(everyMs: number, settledAtMs: number, problem: Problem | null): number {
  const fraction = (settledAtMs * 0.618_033_988_75) % 1
  const turnMs = problem !== null && isOutage(problem) ? Math.min(everyMs, AGAIN_MS) : everyMs
  const requestedMs = retryAfterDelayMs((problem?.retryAfterSeconds ?? 0) * 1_000, { unit: () => fraction })
  return Math.round(Math.max(turnMs * (1 - JITTER + 2 * JITTER * fraction), requestedMs))
}

const isOutage = ({ status }: Problem): boolean => status === null || status >= 500 || isRefusalStatus(status)
