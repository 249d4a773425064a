/**
 * @module worker/errors-seen
 * What is wrong with this worker right now, by where it comes from: a slot, the config, a spawn, a stray exception. The
 * newest is the `last_error` of the state frame; a source that is well again takes its own message back, and no other.
 */
import { MAX_ERROR_CHARS } from '../protocol/index.ts'
import { truncateError } from '../runtime/index.ts'

export type ErrorSource = `slot ${number}` | 'config' | 'spawn' | 'unhandled'

export class ErrorsSeen {
  readonly #messages = new Map<ErrorSource, string>()
  readonly #onChange: () => void

  constructor(onChange: () => void) {
    this.#onChange = onChange
  }

  /** The newest message, null when all is well. */
  get last(): string | null {
    return [...this.#messages.values()].at(-1) ?? null
  }

  has(source: ErrorSource): boolean {
    return this.#messages.has(source)
  }

  /** null: well again. */
  set(source: ErrorSource, message: string | null): void {
    const known = this.#messages.delete(source)
    if (message !== null) this.#messages.set(source, truncateError(message, MAX_ERROR_CHARS))
    if (known || message !== null) this.#onChange()
  }
}
