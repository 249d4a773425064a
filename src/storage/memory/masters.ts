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
  readonly #seen = new Map<string, { at: number }>()

  constructor(store: Pick<Store, 'now'>) {
    this.#store = store
  }

  /** Records a heartbeat. @returns the masters that are alive. */
  beat(masterId: string): readonly string[] {
    valueOf(this.#seen, masterId, () => ({ at: 0 })).at = this.#store.now()
    for (const id of this.#seen.keys()) if (!this.#lives(id)) this.#seen.delete(id)
    return [...this.#seen.keys()]
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
