/**
 * @module operator/fleet/tokens
 * Selects the bearer token during a rotation. While the file already has the new token and the master still expects the
 * previous one, or the other way round, either may be valid.
 */
export class Tokens {
  readonly #read: () => string
  #latest: string
  #before: string | undefined
  /** The previous token is in use, because the master refused the latest. */
  #isBefore = false

  constructor(read: () => string) {
    this.#read = read
    this.#latest = read()
  }

  /** @returns the token to send. Reads the file each time; new content is tried first. */
  current(): string {
    const latest = this.#read()
    if (latest !== this.#latest) {
      if (!this.#isBefore) this.#before = this.#latest // Otherwise the token that works stays the fallback.
      this.#latest = latest
      this.#isBefore = false
    }
    return this.#isBefore ? (this.#before ?? latest) : latest
  }

  /** Switches to the other token. @returns false if there is none. */
  change(): boolean {
    if (this.#before === undefined) return false
    this.#isBefore = !this.#isBefore
    return true
  }
}
