/**
 * @module automation/errors
 * Defines the errors that a plugin throws to choose an outcome, and those that it may catch. Any other error is an
 * ordinary failure: a nack with backoff (batch), or a restart with backoff (continuous).
 */
import type { StopReason } from './context.ts'

/** Thrown by `run` to retry the task after a delay. Counts as a failed attempt. */
export class RetryIn extends Error {
  override readonly name = 'RetryIn'
  readonly seconds: number

  /**
   * Creates the error that `run` throws.
   * @param seconds Delay before the next attempt, 0 to 86,400.
   * @param message The text of `last_error`; truncated to 4,096 characters.
   * @param options `cause`: the error that made the attempt fail.
   * @throws {TypeError} when `seconds` is out of range.
   */
  constructor(seconds: number, message: string, options?: ErrorOptions) {
    super(message, options)
    if (!(seconds >= 0 && seconds <= 86_400)) throw new TypeError(`RetryIn takes 0..86400 seconds, got ${seconds}`)
    this.seconds = seconds
  }
}

/** Thrown by `run` for a task that can never succeed. Moves the task to the dead letters immediately. */
export class Permanent extends Error {
  override readonly name = 'Permanent'
}

/** Thrown by each use of a lock, claim or task whose lease was lost. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
  readonly code = 'lease_lost'
}

/** The reason with which the signal of a run aborts. */
export class SlotStopped extends Error {
  override readonly name = 'SlotStopped'
  readonly why: StopReason
  /**
   * Creates the reason of an abort.
   * @param why What stopped the run.
   */
  constructor(why: StopReason) {
    super(`the slot was stopped: ${why}`)
    this.why = why
  }
}

/** Faults of modules, automations or schemas, found at start and reported together. Each names the module. */
export class AutomationError extends Error {
  override readonly name = 'AutomationError'
  readonly faults: readonly string[]
  /**
   * Creates an error of one or more faults.
   * @param faults A sentence, or one per fault; the message of the error has one per line.
   * @param options `cause`: the error of the module.
   */
  constructor(faults: string | readonly string[], options?: ErrorOptions) {
    const list = typeof faults === 'string' ? [faults] : faults
    super(list.join('\n'), options)
    this.faults = list
  }
}
