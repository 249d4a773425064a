/**
 * @module test/kit/canary
 * Searches outputs for secrets that must not be in them. A canary is a secret of a test: a token, the password of a
 * store, a `writeOnly` config field, a Kubernetes Secret, a URL with a password. A new canary contains a random mark of
 * letters and digits, which stays readable in URLs, JSON and cut texts. Base64 and hex of the mark are searched too,
 * also inside the encoding of a longer text. A secret that the test did not choose is searched in every such form.
 *
 *   const canaries = new Canaries()
 *   const token = canaries.create('admin')            // canaryk3w9…-admin-…
 *   canaries.scan('log', lines); canaries.scan('/metrics', text)
 *   canaries.assertNone()
 */
import { randomBytes } from 'node:crypto'
import { inspect } from 'node:util'

/** A shorter secret occurs in texts by chance. */
const MIN_SECRET_CHARS = 8
const MARK_BYTES = 6
const EXCERPT_CHARS = 60
const BASE64_OFFSETS = [0, 1, 2] as const

export interface CanaryHit {
  /** The name of the secret. */
  readonly secret: string
  /** The output, for example `log` or `GET /metrics`. */
  readonly where: string
  readonly excerpt: string
}

interface Form {
  readonly secret: string
  readonly text: string
}

export class Canaries {
  /** Part of every secret that `create` returns. */
  readonly mark: string
  readonly hits: CanaryHit[] = []
  readonly #random: () => string
  readonly #forms: Form[] = []
  readonly #known = new Set<string>()
  #scanned = 0

  /** @param random Returns letters and digits; a simulation passes a seeded one. */
  constructor(random: () => string = () => randomBytes(MARK_BYTES).toString('hex')) {
    this.#random = random
    this.mark = `canary${random()}`
    for (const text of [this.mark, hexOf(this.mark), ...base64Of(this.mark)])
      this.#forms.push({ secret: 'a canary', text })
  }

  /** @returns a new secret that is accepted as a token, as a password and as a part of a URL. */
  create(name: string): string {
    return `${this.mark}-${name}-${this.#random()}`
  }

  /** Adds a secret that was chosen elsewhere. Shorter ones than 8 characters are ignored. @returns the secret. */
  add(name: string, secret: string): string {
    if (secret.length < MIN_SECRET_CHARS || secret.includes(this.mark) || this.#known.has(secret)) return secret
    this.#known.add(secret)
    for (const text of formsOf(secret)) this.#forms.push({ secret: name, text })
    return secret
  }

  /**
   * Records every secret that an output contains.
   * @param output A text, or a value whose fields are searched, for example log lines with errors.
   */
  scan(where: string, output: unknown): void {
    const text = typeof output === 'string' ? output : textOf(output)
    this.#scanned += text.length
    for (const form of this.#forms) {
      const at = text.indexOf(form.text)
      if (at === -1) continue
      const excerpt = text.slice(Math.max(0, at - EXCERPT_CHARS), at + form.text.length + EXCERPT_CHARS)
      this.hits.push({ secret: form.secret, where, excerpt })
    }
  }

  /** The characters that were searched, so that a test can see that it searched anything. */
  get scannedChars(): number {
    return this.#scanned
  }

  /** @throws {Error} with every hit since the last call. */
  assertNone(): void {
    const found = this.hits.splice(0).map(({ secret, where, excerpt }) => `${where} contains ${secret}: …${excerpt}…`)
    if (found.length > 0) throw new Error(`secrets in outputs:\n${[...new Set(found)].join('\n')}`)
  }
}

/** Errors with their stack and cause, maps and deep fields included. */
const textOf = (value: unknown): string =>
  inspect(value, { depth: 12, maxArrayLength: null, maxStringLength: null, breakLength: Number.POSITIVE_INFINITY })

const hexOf = (text: string): string => Buffer.from(text).toString('hex')

/** The characters of base64 that this text alone determines, for each position that it may have in a longer text. */
function base64Of(text: string): ReadonlySet<string> {
  const parts = BASE64_OFFSETS.flatMap((offset) => {
    const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(text)])
    const [first, last] = [Math.ceil((offset * 8) / 6), Math.floor((bytes.length * 8) / 6)]
    return [bytes.toString('base64').slice(first, last), bytes.toString('base64url').slice(first, last)]
  })
  return new Set(parts)
}

function formsOf(secret: string): ReadonlySet<string> {
  const json = JSON.stringify(secret).slice(1, -1)
  const ascii = json.replaceAll(/[^\u0020-\u007e]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
  return new Set([
    secret,
    json,
    ascii,
    JSON.stringify(json).slice(1, -1), // JSON inside a JSON text, as in a log line with a body.
    encodeURIComponent(secret),
    encodeURI(secret),
    new URLSearchParams({ s: secret }).toString().slice(2),
    hexOf(secret),
    ...base64Of(secret),
  ])
}

/** The secrets of this process: of one test file, which has its own copy of this module. */
export const canaries = new Canaries()
