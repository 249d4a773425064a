/**
 * @module runtime/clock
 * The ports through which everything else learns the time and waits. Core logic never reads a clock
 * or sets a timer by itself, so that whole days can be simulated (see virtual-time.ts).
 */

export interface Clock {
  /** Milliseconds since 1970 by the machine's clock. May step; only for times that are shown. */
  wallMs(): number
  /** Milliseconds since an arbitrary start. Never steps; for every duration and deadline. */
  monotonicMs(): number
}

/** Ends a timer; repeatable, and without effect once the timer has fired. */
export type Cancel = () => void

export interface Timers {
  /** Runs `task` once after `ms` milliseconds (0 or more; any length, also beyond 24.8 days). */
  after(ms: number, task: () => void): Cancel
  /** Runs `task` every `ms` milliseconds, first after one period. */
  every(ms: number, task: () => void): Cancel
  /** Resolves after `ms` milliseconds; rejects with `signal.reason` as soon as the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** The one source of time that a process hands around. */
export type Time = Clock & Timers
