/**
 * @module automation/mask
 * Keeps secrets out of texts that leave a slot: errors, log lines, spans. A secret is a value at a `writeOnly` path of
 * a config that the run has seen; shorter ones than six characters are left, since replacing them would garble texts
 * and tell where they stand.
 * @see D17, D52
 */
import { SECRET_MASK, secretValues, type JsonObject, type SecretPaths } from '../protocol/index.ts'

const MIN_SECRET_CHARS = 6
/** Log fields deeper than this are cut by the log anyway. */
const MAX_DEPTH = 8

export class Masker {
  readonly #paths: SecretPaths
  readonly #secrets = new Set<string>()
  #last: JsonObject | undefined

  constructor(paths: SecretPaths) {
    this.#paths = paths
  }

  /** Remembers the secrets of `config`, beside those of configs seen before. */
  see(config: JsonObject): void {
    if (config === this.#last) return
    this.#last = config
    for (const value of secretValues(config, this.#paths)) this.#remember(value)
  }

  /** `text` without any secret. */
  text(text: string): string {
    if (this.#secrets.size === 0) return text
    const longestFirst = [...this.#secrets].toSorted((a, b) => b.length - a.length) // One may contain another.
    return longestFirst.reduce((masked, secret) => masked.replaceAll(secret, SECRET_MASK), text)
  }

  /** A copy of `value` in which every text is without secrets. */
  value(value: unknown, depth = 0): unknown {
    if (this.#secrets.size === 0) return value
    if (typeof value === 'string') return this.text(value)
    if (depth > MAX_DEPTH) return undefined
    if (typeof value !== 'object' || value === null) return value
    if (value instanceof Error) return this.text(value.stack ?? value.message)
    if ('toJSON' in value && typeof value.toJSON === 'function')
      return this.value((value as { toJSON(): unknown }).toJSON(), depth + 1)
    if (Array.isArray(value)) return value.map((each: unknown) => this.value(each, depth + 1))
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, this.value(each, depth + 1)]))
  }

  #remember(value: unknown): void {
    if (typeof value === 'object' && value !== null) for (const each of Object.values(value)) this.#remember(each)
    const text = typeof value === 'number' ? String(value) : value
    if (typeof text === 'string' && text.length >= MIN_SECRET_CHARS && text !== SECRET_MASK) this.#secrets.add(text)
  }
}
