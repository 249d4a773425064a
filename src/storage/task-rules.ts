/**
 * @module storage/task-rules
 * Defines the rules of tasks that need no storage: expiry, attempts and death. They are pure functions, so the backends
 * that run in this process apply the same ones. The scripts of the Redis backend implement them in Lua.
 */
import { MAX_ERROR_CHARS } from '../protocol/index.ts'
import { retryDelayMs } from '../runtime/index.ts'
import { charsOfAttempts } from './failed-attempts.ts'
import type { Counts, NackItem, Outcome, Pause, RetryPolicy, RunResult, TaskState } from './backend.ts'
import type { EpochMs } from './contract/common.ts'

/** Bytes that an outcome counts in addition to its id, worker and result. */
export const OUTCOME_BYTES = 64
/** Expired outcomes that one sweep forgets. */
export const OUTCOMES_PER_SWEEP = 500

/** What a nack does with the task. `attempt` counts its failed runs, this one included. */
export type NackOutcome =
  | { readonly kind: 'retry'; readonly attempt: number; readonly delayMs: number }
  | { readonly kind: 'dead'; readonly attempt: number }

/** The facts about a leased task that decide what a nack does. */
export interface FailedRun {
  /** Failed runs before this one. */
  readonly attempt: number
  /** Of the lease. */
  readonly maxAttempts: number
}

/** When a task that is pending since `nowMs` expires; `null`: never. */
export function expiryOf(ttlMs: number | null, nowMs: EpochMs): EpochMs | null {
  return ttlMs === null ? null : nowMs + ttlMs
}

/** When a submitted task becomes pending: `nowMs` or later (D104). */
export function dueOf({ notBeforeMs = 0 }: { readonly notBeforeMs?: EpochMs }, nowMs: EpochMs): EpochMs {
  return Math.max(notBeforeMs, nowMs)
}

/** Whether a reserve drops the pending task instead of leasing it. */
export function hasExpired(expiresAtMs: EpochMs | null, nowMs: EpochMs): boolean {
  return expiresAtMs !== null && expiresAtMs <= nowMs
}

/** When the outcome of a task that ends at `nowMs` is forgotten; `null`: it is not retained (D110). */
export function retainedUntil(retainMs: number | null, nowMs: EpochMs): EpochMs | null {
  return retainMs === null ? null : nowMs + retainMs
}

/** Bytes by which an outcome counts towards the bound of its type (D110). */
export function outcomeBytes(
  id: string,
  { worker, actor = '', result, attempts = [] }: Pick<Outcome, 'worker' | 'actor' | 'result' | 'attempts'>,
): number {
  const failed = attempts.length === 0 ? 0 : Buffer.byteLength(JSON.stringify(attempts))
  return OUTCOME_BYTES + Buffer.byteLength(id) + Buffer.byteLength(worker ?? actor) + resultBytes(result) + failed
}

function resultBytes(result: RunResult | null): number {
  return result?.kind === 'json' ? Buffer.byteLength(result.text) : 0
}

/** The text of a state, by which `describe` ends its list early. */
export function charsOfState(state: TaskState | null): number {
  if (state === null) return 0
  const failed = charsOfAttempts(state.attempts)
  if (state.kind === 'stored') return failed + (state.progress?.text.length ?? 0)
  if (state.kind === 'dead') return failed + (state.lastError?.length ?? 0) + (state.progress?.text.length ?? 0)
  return failed + (state.result?.kind === 'json' ? state.result.text.length : 0)
}

/** The pause, if it lasts at `nowMs`; otherwise `null` (D106). */
export function lastingPause(pause: Pause | null, nowMs: EpochMs): Pause | null {
  return pause === null || (pause.untilMs !== null && pause.untilMs <= nowMs) ? null : pause
}

/** The field of a result that shows the pause; absent if there is none. */
export function pausedOf(pause: Pause | null): { readonly paused?: Pause } {
  return pause === null ? {} : { paused: pause }
}

/** The running totals as `counts` returns them: without `cancelled` while it is 0. */
export function totalsOf(totals: Omit<Counts['totals'], 'cancelled'>, cancelled: number): Counts['totals'] {
  return cancelled === 0 ? totals : { ...totals, cancelled }
}

/** The earlier of two times; `null`: never. */
export function earlierOf(a: EpochMs | null, b: EpochMs | null): EpochMs | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b)
}

/** How many failed runs the task may have: its own number, else that of the worker's config (D26). */
export function maxAttemptsOf(ownMaxAttempts: number | null, defaultMaxAttempts: number): number {
  return ownMaxAttempts ?? defaultMaxAttempts
}

/** The deadline of a lease after an extend, which never moves it to an earlier time. */
export function extendedDeadline(expiresAtMs: EpochMs, nowMs: EpochMs, visibilityMs: number): EpochMs {
  return Math.max(expiresAtMs, nowMs + visibilityMs)
}

/**
 * Decides between a retry and the dead-letter queue: a task is dead after a permanent failure, or when its failed runs
 * have reached its maximum (D26, D55).
 */
export function nackOutcome(run: FailedRun, nack: Omit<NackItem, 'id' | 'token'>, retry: RetryPolicy): NackOutcome {
  const attempt = run.attempt + 1
  const hasAttemptsLeft = attempt < run.maxAttempts
  if (nack.permanent || !hasAttemptsLeft) return { kind: 'dead', attempt }
  return { kind: 'retry', attempt, delayMs: nack.retryInMs ?? retryDelayMs(retry, run.attempt, nack.jitter) }
}

/**
 * Whether a task that has lost its lease for `lost` times is dead (D26).
 *
 * @param maxLost 0: never.
 */
export function isLostTooOften(lost: number, maxLost: number): boolean {
  return maxLost > 0 && lost >= maxLost
}

/** The last error of a task that died because it lost its lease too often. */
export function lostLeaseError(lost: number): string {
  return `lease lost ${lost} times`
}

/**
 * An error text as it is stored: at most 4,096 characters, without half a surrogate pair at the cut. The master has
 * already truncated it (`truncateError`); this bounds other callers. It does not use the runtime, because that would
 * load the logger in the thread of the SQLite backend.
 */
export function cutError(error: string): string {
  return error.length <= MAX_ERROR_CHARS ? error : error.slice(0, MAX_ERROR_CHARS).toWellFormed()
}
