/**
 * @module automation/errors
 * What a plugin throws to choose an outcome, and what it may catch. Anything else it throws is an ordinary failure:
 * nack with backoff (batch), restart with backoff (continuous).
 */
import type { StopReason } from './context.ts'

/** Run the task again after `seconds` (0..86400); counts as a failed attempt. */
export class RetryIn extends Error {
  override readonly name = 'RetryIn'
  readonly seconds: number
  constructor(seconds: number, message: string, options?: ErrorOptions) {
    super(message, options)
    if (!(seconds >= 0 && seconds <= 86_400)) throw new TypeError(`RetryIn takes 0..86400 seconds, got ${seconds}`)
    this.seconds = seconds
  }
}

/** The task can never succeed: to the dead letters at once. */
export class Permanent extends Error {
  override readonly name = 'Permanent'
}

/** Thrown by any use of a lock, claim or task whose lease has ended. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
  readonly code = 'lease_lost'
}

/** The reason of a slot's signal. */
export class SlotStopped extends Error {
  override readonly name = 'SlotStopped'
  readonly why: StopReason
  constructor(why: StopReason) {
    super(`the slot was stopped: ${why}`)
    this.why = why
  }
}

/** Faults of modules, automations or their schemas, found at start and reported together. Each names the module. */
export class AutomationError extends Error {
  override readonly name = 'AutomationError'
  readonly faults: readonly string[]
  constructor(faults: string | readonly string[], options?: ErrorOptions) {
    const list = typeof faults === 'string' ? [faults] : faults
    super(list.join('\n'), options)
    this.faults = list
  }
}
