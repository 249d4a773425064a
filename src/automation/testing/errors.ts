/**
 * @module automation/testing/errors
 * Defines the faults that fail a run of the harness. A failed task or a run that throws is not a fault, but part of the
 * result.
 */

/** Faults that a test may allow with `allow`. */
export type Excusable =
  /** An output that does not match its schema. */
  | 'output'
  /** A run that continues for two real seconds after its signal aborted. */
  | 'signal'
  /** A lock or claim that is still held when the run returns. */
  | 'held'
  /** A call of the context that was not awaited. */
  | 'unawaited'
  /** A secret of the config in an output, a log line or an error. */
  | 'secret'

/** `usage`: the harness was called incorrectly. `stuck`: the run would never end. */
export interface Fault {
  readonly name: Excusable | 'usage' | 'stuck'
  readonly message: string
}

/** Further faults are repetitions of the same mistake. */
const MAX_SHOWN = 20
const EXCUSABLE: readonly string[] = ['output', 'signal', 'held', 'unawaited', 'secret'] satisfies Excusable[]

/** Thrown by runBatch and runContinuous. Each entry of `faults` is one sentence. */
export class RunError extends Error {
  override readonly name = 'RunError'
  readonly faults: readonly Fault[]
  constructor(by: string, faults: readonly Fault[]) {
    super([`${by}:`, ...faults.map(({ name, message }) => `  ${name}: ${message}`)].join('\n'))
    this.faults = faults
  }
}

/** Collects the faults of one run, each once. */
export class Faults {
  readonly #by: string
  readonly #allowed: ReadonlySet<string>
  readonly #found = new Map<string, Fault>()

  /** @throws {RunError} when `allow` contains an unknown name. */
  constructor(by: string, allow: readonly string[] = []) {
    this.#by = by
    this.#allowed = new Set(allow)
    for (const name of allow)
      if (!EXCUSABLE.includes(name)) throw this.usage(`allow: "${name}" is not known; known: ${EXCUSABLE.join(', ')}`)
  }

  add(name: Fault['name'], message: string): void {
    if (!this.#allowed.has(name) && this.#found.size < MAX_SHOWN)
      this.#found.set(`${name} ${message}`, { name, message })
  }

  allows(name: Excusable): boolean {
    return this.#allowed.has(name)
  }

  /** @returns the error for an incorrect call of the harness. */
  usage(...messages: readonly string[]): RunError {
    return new RunError(
      this.#by,
      messages.map((message) => ({ name: 'usage', message })),
    )
  }

  /** @returns the error for a run that would never end, with the faults found before. */
  stuck(message: string): RunError {
    return new RunError(this.#by, [{ name: 'stuck', message }, ...this.#found.values()])
  }

  throwIfAny(): void {
    if (this.#found.size > 0) throw new RunError(this.#by, [...this.#found.values()])
  }
}
