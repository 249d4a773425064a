/**
 * @module storage/sqlite/masters
 * Which masters live. The file serves one process, so this is memory: after a restart no master lives until it beats.
 */
import type { Transaction } from './transaction.ts'

const ALIVE_MS = 15_000

export class Masters {
  readonly #txn: Transaction
  readonly #beats = new Map<string, number>()

  constructor(txn: Transaction) {
    this.#txn = txn
  }

  beat(masterId: string): readonly string[] {
    this.#beats.set(masterId, this.#txn.nowMs)
    for (const [id, at] of this.#beats) if (at <= this.#txn.nowMs - ALIVE_MS) this.#beats.delete(id)
    return [...this.#beats.keys()].toSorted()
  }

  /** @param conn "<masterId>/<n>". */
  holds(conn: string | null): boolean {
    if (conn === null) return false
    const at = this.#beats.get(conn.slice(0, conn.lastIndexOf('/')))
    return at !== undefined && at > this.#txn.nowMs - ALIVE_MS
  }
}
