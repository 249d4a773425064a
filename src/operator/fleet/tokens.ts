/**
 * @module operator/fleet/tokens
 * The bearer token, through a rotation: while the file here has the new one and the master still wants the one before,
 * or the other way round, either may be the right one.
 */
export class Tokens {
  readonly #read: () => string
  #latest: string
  #before: string | undefined
  /** The one before is in use, as the master refused the latest. */
  #isBefore = false

  constructor(read: () => string) {
    this.#read = read
    this.#latest = read()
  }

  /** The token to send. The file is looked at each time; its new content goes first. */
  current(): string {
    const latest = this.#read()
    if (latest !== this.#latest) {
      if (!this.#isBefore) this.#before = this.#latest // Else the one that works stays the way back.
      this.#latest = latest
      this.#isBefore = false
    }
    return this.#isBefore ? (this.#before ?? latest) : latest
  }

  /** Changes to the other one of the two. False: there is none. */
  change(): boolean {
    if (this.#before === undefined) return false
    this.#isBefore = !this.#isBefore
    return true
  }
}
