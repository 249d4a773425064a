/** @module dashboard/api/turns  When a thing is read again. */
import { isRefusalStatus, retryAfterDelayMs } from '../../runtime/backoff/index.ts'
import type { Problem } from './problem.ts'

/** Reads of many tabs, and of many people, are not to fall into step. */
const JITTER = 0.1
/** What the master or its store could not serve is read again this soon, so that the page is right within 5 s of their return. */
const AGAIN_MS = 3_000

/** The wait until the next turn: of one query at one time always the same, since the library asks at every render. */
export function nextTurnMs(everyMs: number, settledAtMs: number, problem: Problem | null): number {
  const fraction = (settledAtMs * 0.618_033_988_75) % 1
  const turnMs = problem !== null && isAway(problem) ? Math.min(everyMs, AGAIN_MS) : everyMs
  const requestedMs = retryAfterDelayMs((problem?.retryAfterSeconds ?? 0) * 1_000, { unit: () => fraction })
  return Math.round(Math.max(turnMs * (1 - JITTER + 2 * JITTER * fraction), requestedMs))
}

const isAway = ({ status }: Problem): boolean => status === null || status >= 500 || isRefusalStatus(status)
