/**
 * @module worker/unhandled-errors
 * Describes errors of plugins that no run has caught, with the secrets of the current config masked. An unhandled
 * rejection is logged and becomes `last_error` until the next config; the worker continues.
 */
import { failureOf, Masker, type AppliedConfig, type Failure, type RunnableEntry } from '../automation/index.ts'
import { LogThrottle, type Clock, type Log } from '../runtime/index.ts'
import type { ActiveErrors } from './active-errors.ts'

const SOURCE = 'unhandled'

export interface UnhandledErrorsDeps {
  readonly clock: Clock
  readonly log: Log
  readonly entry: Pick<RunnableEntry, 'secrets'>
  readonly config: () => AppliedConfig
  readonly errors: ActiveErrors
}

export class UnhandledErrors {
  readonly #deps: UnhandledErrorsDeps
  readonly #logThrottle: LogThrottle

  constructor(deps: UnhandledErrorsDeps) {
    this.#deps = deps
    this.#logThrottle = new LogThrottle(deps.clock)
  }

  /** Describes what was thrown. */
  failureOf(thrown: unknown): Failure {
    const masker = new Masker(this.#deps.entry.secrets)
    masker.see(this.#deps.config())
    return failureOf(thrown, masker)
  }

  /** Logs an unhandled rejection, and reports it as an error of the worker. */
  report(error: unknown): void {
    const { text, stack } = this.failureOf(error)
    this.#logThrottle.run(SOURCE, (suppressed) =>
      this.#deps.log.error('unhandled rejection in the automation: a promise that nothing awaits was rejected', {
        error: text,
        stack,
        ...(suppressed > 0 && { suppressed }),
      }),
    )
    this.#deps.errors.set(SOURCE, `unhandled rejection in the automation: ${text}`)
  }

  /** Clears the error of the worker, because a new config was applied. */
  clear(): void {
    this.#deps.errors.set(SOURCE, null)
  }
}
