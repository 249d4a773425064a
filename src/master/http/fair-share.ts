/**
 * @module master/http/fair-share
 * Counts places in use, in all and for each token. One token holds at most a quarter of the places, and the last tenth is
 * for the admin and the workers, so that no scoped token shuts out the others (D71).
 */
import type { Principal } from './route.ts'

const TOKEN_SHARE = 1 / 4
const RESERVE = 1 / 10

/** Why there is no place: `token` has its share already, or all places are in use. */
export type NoPlace = 'token' | 'all'

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

  /** Why there is no place; null when there is one. */
  check({ role, key }: Principal): NoPlace | null {
    if (this.#taken >= (role === 'scoped' ? this.#unreserved : this.#places)) return 'all'
    return (this.#byToken.get(key) ?? 0) >= this.#perToken ? 'token' : null
  }

  /** Takes a place, after `check` found one; the caller then calls `release` once. */
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
