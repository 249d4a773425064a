/**
 * @module automation/testing/errors
 * Why a run of the harness fails. A failed task or a run that threw is no such reason: it stands in the result.
 */

/** What a test may excuse with `allow`: the automation works, and still does what it should not. */
export type Excusable =
  /** An output that does not match its schema. */
  | 'output'
  /** A run that goes on for two seconds, real ones, after its signal. */
  | 'signal'
  /** A lock or claim that is still held when the run returns. */
  | 'held'
  /** A call of the context that nobody awaited. */
  | 'unawaited'
  /** A secret of the config in an output, a log line or an error. */
  | 'secret'

/** `usage`: the harness was called wrongly. `stuck`: the run would never end. */
export interface Fault {
  readonly name: Excusable | 'usage' | 'stuck'
  readonly message: string
}

/** More faults than this are one mistake, made many times. */
const MAX_SHOWN = 20
const EXCUSABLE: readonly string[] = ['output', 'signal', 'held', 'unawaited', 'secret'] satisfies Excusable[]

/** Thrown by runBatch and runContinuous. `faults` says what is wrong, each in one sentence. */
export class RunError extends Error {
  override readonly name = 'RunError'
  readonly faults: readonly Fault[]
  constructor(by: string, faults: readonly Fault[]) {
    super([`${by}:`, ...faults.map(({ name, message }) => `  ${name}: ${message}`)].join('\n'))
    this.faults = faults
  }
}

/** The faults of one run, each once. */
export class Faults {
  readonly #by: string
  readonly #allowed: ReadonlySet<string>
  readonly #found = new Map<string, Fault>()

  /** @throws RunError when `allow` names something else. */
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

  /** The call of the harness itself is wrong. */
  usage(...messages: readonly string[]): RunError {
    return new RunError(
      this.#by,
      messages.map((message) => ({ name: 'usage', message })),
    )
  }

  /** Nothing but this matters any more; what was found before is told along. */
  stuck(message: string): RunError {
    return new RunError(this.#by, [{ name: 'stuck', message }, ...this.#found.values()])
  }

  throwIfAny(): void {
    if (this.#found.size > 0) throw new RunError(this.#by, [...this.#found.values()])
  }
}
