/**
 * @module storage/sqlite/masters
 * Masters tracks in memory which masters are alive by their heartbeats, because the file serves one process. After a
 * restart no master is alive until its first heartbeat.
 */
import type { Transaction } from './transaction.ts'

const ALIVE_MS = 15_000

export class Masters {
  readonly #txn: Transaction
  readonly #beats = new Map<string, number>()
  readonly #texts = new Map<string, string>()

  constructor(txn: Transaction) {
    this.#txn = txn
  }

  beat(masterId: string): readonly string[] {
    this.#beats.set(masterId, this.#txn.nowMs)
    for (const [id, at] of this.#beats) if (at <= this.#txn.nowMs - ALIVE_MS) this.#beats.delete(id)
    return [...this.#beats.keys()].toSorted()
  }

  /** Records what a live master implements. @returns what each live master recorded. */
  declare(masterId: string, text: string): readonly (string | null)[] {
    const live = [...this.#beats].filter(([, at]) => at > this.#txn.nowMs - ALIVE_MS).map(([id]) => id)
    if (live.includes(masterId)) this.#texts.set(masterId, text)
    for (const id of this.#texts.keys()) if (!live.includes(id)) this.#texts.delete(id)
    return live.map((id) => this.#texts.get(id) ?? null)
  }

  /** Whether the master of this connection is alive. @param conn "<masterId>/<n>". */
  isConnected(conn: string | null): boolean {
    if (conn === null) return false
    const at = this.#beats.get(conn.slice(0, conn.lastIndexOf('/')))
    return at !== undefined && at > this.#txn.nowMs - ALIVE_MS
  }
}
