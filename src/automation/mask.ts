/**
 * @module automation/mask
 * Removes secrets from texts that leave a slot: errors, log lines and spans. A secret is a value at a `writeOnly` path
 * of a config that the run has used. It is masked as it is, and as it appears in JSON, URLs, base64 and hex. Base64 is
 * also recognised inside the encoding of a longer text, such as `user:secret` of basic authentication.
 *
 *   6 characters or more   masked everywhere
 *   fewer                  masked unless a letter or digit is next to it: the PIN 42 in "PIN 42", not in "1426 ms"
 * @see D17, D52, D89
 */
import { SECRET_MASK, secretValues, type JsonObject, type SecretPaths } from '../protocol/index.ts'

/** Shorter forms occur in texts by chance. */
const MIN_FREE_CHARS = 6
/** The log cuts deeper fields anyway. */
const MAX_DEPTH = 8

export class Masker {
  readonly #paths: SecretPaths
  /** Every form of every secret. */
  readonly #forms = new Set<string>()
  #pattern: RegExp | undefined
  #last: JsonObject | undefined

  constructor(paths: SecretPaths) {
    this.#paths = paths
  }

  /** Adds the secrets of `config` to those of earlier configs. */
  see(config: JsonObject): void {
    if (config === this.#last) return
    this.#last = config
    for (const value of secretValues(config, this.#paths)) this.#remember(value)
  }

  /** Masks every secret in `text`. */
  text(text: string): string {
    if (this.#forms.size === 0) return text
    this.#pattern ??= patternOf(this.#forms)
    return text.replaceAll(this.#pattern, SECRET_MASK)
  }

  /**
   * Copies `value` and masks every secret in its texts.
   * @returns A copy without fields deeper than 8 levels; an Error becomes its stack as text.
   */
  value(value: unknown, depth = 0): unknown {
    if (this.#forms.size === 0) return value
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
    if (typeof text !== 'string' || text === '' || text === SECRET_MASK) return
    for (const form of formsOf(text)) this.#forms.add(form)
    this.#pattern = undefined
  }
}

/**
 * Creates one pattern, so that a mask is not searched again. Longer forms come first, because a secret may contain
 * another.
 */
function patternOf(forms: ReadonlySet<string>): RegExp {
  const longestFirst = [...forms].toSorted((a, b) => b.length - a.length)
  const parts = longestFirst.map((form) => {
    const literal = form.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)
    return form.length >= MIN_FREE_CHARS ? literal : `(?<![\\p{L}\\p{N}])${literal}(?![\\p{L}\\p{N}])`
  })
  return new RegExp(parts.join('|'), 'gu')
}

function formsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret)
  const inUrl = secret.isWellFormed() ? encodeURIComponent(secret) : secret
  const [hex, base64] = [bytes.toString('hex'), bytes.toString('base64')]
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    inUrl,
    inUrl.replaceAll('%20', '+'),
    inUrl.replaceAll(/%[0-9A-F]{2}/g, (byte) => byte.toLowerCase()),
    hex,
    hex.toUpperCase(),
    base64,
    base64.replace(/=+$/, ''),
    bytes.toString('base64url'),
    ...insideBase64(bytes),
  ]
}

/** @returns how `secret` appears in the base64 of a longer text, for each of its three possible offsets in a group. */
function insideBase64(secret: Buffer): readonly string[] {
  return [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), secret]).toString('base64')
    // Without the characters that encode neighbouring bytes too.
    const own = text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + secret.length) * 8) / 6))
    return own.length < MIN_FREE_CHARS ? [] : [own, own.replaceAll('+', '-').replaceAll('/', '_')]
  })
}
