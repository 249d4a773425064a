/**
 * @module dashboard/api/poll
 * Reads again and again, the next time only after the last answer came. The last good data stay while the master is
 * away; what is shown then says so, and how old it is.
 */
import { asProblem, type Problem } from './problem.ts'

export interface Polled<T> {
  /** The last good data; undefined before the first. */
  readonly data: T | undefined
  /** When they came, local milliseconds. */
  readonly atMs: number | undefined
  /** Why the newest try failed; undefined when it did not. */
  readonly problem: Problem | undefined
}

export const NOTHING_YET: Polled<never> = { data: undefined, atMs: undefined, problem: undefined }

export interface PollParts<T> {
  readonly load: (signal: AbortSignal) => Promise<T>
  readonly everyMs: number
  /** Waits; ends early when the page wants fresh data. */
  readonly pause: (ms: number) => Promise<void>
  readonly localMs: () => number
  readonly report: (polled: Polled<T>) => void
  readonly signal: AbortSignal
}

export async function poll<T>({ load, everyMs, pause, localMs, report, signal }: PollParts<T>): Promise<void> {
  let last: Polled<T> = NOTHING_YET
  while (!signal.aborted) {
    last = await outcome(load, last, localMs, signal)
    if (signal.aborted) return
    report(last)
    await pause(Math.max(everyMs, (last.problem?.retryAfterSeconds ?? 0) * 1_000))
  }
}

async function outcome<T>(load: PollParts<T>['load'], last: Polled<T>, localMs: () => number, signal: AbortSignal): Promise<Polled<T>> {
  try {
    return { data: await load(signal), atMs: localMs(), problem: undefined }
  } catch (error) {
    return { ...last, problem: asProblem(error) }
  }
}
