/**
 * @module worker/active-errors
 * Keeps the current errors of a worker by source: a slot, the config, a spawn, or an unhandled error. The newest is
 * `last_error` in the state frame. A source that recovers clears only its own error.
 */
import { MAX_ERROR_CHARS } from '../protocol/index.ts'
import { truncateError } from '../runtime/index.ts'

export type ErrorSource = `slot ${number}` | 'config' | 'spawn' | 'unhandled'

export class ActiveErrors {
  readonly #messages = new Map<ErrorSource, string>()
  readonly #onChange: () => void

  constructor(onChange: () => void) {
    this.#onChange = onChange
  }

  /** The newest message; null without errors. */
  get last(): string | null {
    return [...this.#messages.values()].at(-1) ?? null
  }

  has(source: ErrorSource): boolean {
    return this.#messages.has(source)
  }

  /** @param message null clears the error of this source. */
  set(source: ErrorSource, message: string | null): void {
    const known = this.#messages.delete(source)
    if (message !== null) this.#messages.set(source, truncateError(message, MAX_ERROR_CHARS))
    if (known || message !== null) this.#onChange()
  }
}
