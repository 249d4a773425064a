/**
 * @module storage/memory/masters
 * Tracks which masters are alive by their heartbeats. A worker counts as connected while its master is alive.
 */
import { valueOf } from './store.ts'
import type { Store } from './store.ts'

/** Three heartbeats. */
const ALIVE_MS = 15_000

export class Masters {
  readonly #store: Pick<Store, 'now'>
  readonly #seen = new Map<string, { at: number; text: string | null }>()

  constructor(store: Pick<Store, 'now'>) {
    this.#store = store
  }

  /** Records a heartbeat. @returns the masters that are alive. */
  beat(masterId: string): readonly string[] {
    valueOf(this.#seen, masterId, () => ({ at: 0, text: null })).at = this.#store.now()
    for (const id of this.#seen.keys()) if (!this.#lives(id)) this.#seen.delete(id)
    return [...this.#seen.keys()]
  }

  /** Records what a live master implements. @returns what each live master recorded. */
  declare(masterId: string, text: string): readonly (string | null)[] {
    const seen = this.#seen.get(masterId)
    if (seen !== undefined) seen.text = text
    return [...this.#seen].filter(([id]) => this.#lives(id)).map(([, each]) => each.text)
  }

  /** `conn` is "<masterId>/<n>". */
  isConnected(conn: string | null): boolean {
    return conn !== null && this.#lives(conn.slice(0, Math.max(0, conn.lastIndexOf('/'))))
  }

  #lives(masterId: string): boolean {
    const seen = this.#seen.get(masterId)
    return seen !== undefined && this.#store.now() < seen.at + ALIVE_MS
  }
}
