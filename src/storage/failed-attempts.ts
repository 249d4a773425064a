/**
 * @module storage/failed-attempts
 * Defines the rules for the failed attempts that are kept of a task (D115). The scripts of the Redis backend implement
 * them in Lua (scripts/include/facts.lua).
 */
import { MAX_ATTEMPT_ERROR_CHARS, MAX_KEPT_ATTEMPTS } from '../protocol/index.ts'
import type { FailedAttempt, RunHistory } from './contract/attempts.ts'
import { replayOf, withoutReplay, withReplay, type StoredAttempt } from './replay-marks.ts'

/** Adds an attempt; beyond five, the oldest is dropped. The newest one carries the replay of the task. */
export function withAttempt(attempts: readonly StoredAttempt[], newest: FailedAttempt): readonly StoredAttempt[] {
  return withReplay([...attempts, newest], replayOf(attempts)).slice(-MAX_KEPT_ATTEMPTS)
}

/** The error of a failed attempt, without half a surrogate pair at the cut. */
export function attemptError(error: string): string {
  if (error.length <= MAX_ATTEMPT_ERROR_CHARS) return error
  const cut = error.slice(0, MAX_ATTEMPT_ERROR_CHARS)
  return cut.isWellFormed() ? cut : cut.slice(0, -1)
}

/** The field of a result that shows the attempts; absent if there is none. */
export function attemptsOf(attempts: readonly StoredAttempt[]): Pick<RunHistory, 'attempts'> {
  return attempts.length === 0 ? {} : { attempts: withoutReplay(attempts) }
}

/** The text of attempts, by which a list ends early. */
export function charsOfAttempts(attempts: readonly FailedAttempt[] = []): number {
  return attempts.reduce((sum, { error, worker }) => sum + (error?.length ?? 0) + worker.length, 0)
}
