/**
 * @module automation/testing/wait-limit
 * Limits how long a run may wait for something outside of its context, and explains a wait that was too long.
 */
import { toMs, toSeconds } from '../../protocol/index.ts'
import type { Clock } from '../../runtime/index.ts'
import { STOP_WITHIN_MS, type WatchedRun } from './watched-run.ts'

/** Less than the five seconds after which most test runners end a test without an explanation. */
const MAX_WAIT_SECONDS = 4

export class WaitLimit {
  readonly #clock: Clock
  readonly #mayIgnoreSignal: boolean
  readonly #maxWaitMs: number

  constructor(clock: Clock, mayIgnoreSignal: boolean, maxWaitSeconds = MAX_WAIT_SECONDS) {
    this.#clock = clock
    this.#mayIgnoreSignal = mayIgnoreSignal
    this.#maxWaitMs = toMs(maxWaitSeconds)
  }

  /** Milliseconds that the run may still wait outside of its context. 0 or less: the time is up. */
  leftMs({ lastSeenMs, stopRequestedAtMs }: WatchedRun): number {
    const untilMs = Math.min(
      lastSeenMs + this.#maxWaitMs,
      stopRequestedAtMs === undefined || this.#mayIgnoreSignal ? Infinity : stopRequestedAtMs + STOP_WITHIN_MS,
    )
    return untilMs - this.#clock.monotonicMs()
  }

  /** @returns the message for a run that waited too long. @param open Kinds of the resources that it has opened. */
  explain(run: WatchedRun, open: readonly string[]): string {
    const what =
      open.length === 0
        ? 'it has no timer, connection or file open, so it may wait for a promise that never settles'
        : `it has open: ${open.join(', ')}`
    return (
      `${run.who}: run has waited ${toSeconds(this.#maxWaitMs)} s for something outside of its context, ` +
      `and virtual time stands still meanwhile; ${run.lastCall}; ${what}. ` +
      'Wait for it with a deadline (AbortSignal.timeout), or allow more with maxWaitSeconds'
    )
  }
}
