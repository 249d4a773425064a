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

  constructor(txn: Transaction) {
    this.#txn = txn
  }

  beat(masterId: string): readonly string[] {
    this.#beats.set(masterId, this.#txn.nowMs)
    for (const [id, at] of this.#beats) if (at <= this.#txn.nowMs - ALIVE_MS) this.#beats.delete(id)
    return [...this.#beats.keys()].toSorted()
  }

  /** Whether the master of this connection is alive. @param conn "<masterId>/<n>". */
  isConnected(conn: string | null): boolean {
    if (conn === null) return false
    const at = this.#beats.get(conn.slice(0, conn.lastIndexOf('/')))
    return at !== undefined && at > this.#txn.nowMs - ALIVE_MS
  }
}
