/**
 * @module master/http/fair-share
 * Counts places in use, in total and per token. One token may use at most a quarter of the places. The last tenth is
 * reserved for the admin and the workers, so that scoped tokens cannot exclude them (D71).
 */
import type { Principal } from '../auth/index.ts'

const TOKEN_SHARE = 1 / 4
const RESERVE = 1 / 10

/** Why there is no place: `token` uses its share already, or `all` places are in use. */
export type ShareExceeded = 'token' | 'all'

export class FairShare {
  readonly #perToken: number
  readonly #places: number
  readonly #unreserved: number
  readonly #byToken = new Map<string, number>()
  #taken = 0

  constructor(places: number) {
    this.#places = places
    this.#perToken = Math.floor(places * TOKEN_SHARE)
    this.#unreserved = Math.floor(places * (1 - RESERVE))
  }

  get perToken(): number {
    return this.#perToken
  }

  get taken(): number {
    return this.#taken
  }

  /** Why there is no place; null if there is one. */
  check({ role, key }: Principal): ShareExceeded | null {
    if (this.#taken >= (role === 'scoped' ? this.#unreserved : this.#places)) return 'all'
    return (this.#byToken.get(key) ?? 0) >= this.#perToken ? 'token' : null
  }

  /** Takes a place. To be called after `check`; the caller must call `release` once. */
  take({ key }: Principal): void {
    this.#byToken.set(key, (this.#byToken.get(key) ?? 0) + 1)
    this.#taken += 1
  }

  release({ key }: Principal): void {
    const held = this.#byToken.get(key) ?? 0
    if (held <= 1) this.#byToken.delete(key)
    else this.#byToken.set(key, held - 1)
    this.#taken -= 1
  }
}
