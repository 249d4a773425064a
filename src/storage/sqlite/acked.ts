/**
 * @module storage/sqlite/acked
 * Acked remembers which tokens were acknowledged, and for which task, so that a repeated ack succeeds again (D24, D80).
 * A row stands for 4,096 tokens: a bit for each, then the fingerprint of the task for as many as were needed so far. A
 * bit without a fingerprint was set by an older version, and stands for any task. The newest 1,024 rows of a type stay,
 * which is more than the last three segments of 2^20 tokens.
 */
import { fingerprintOf } from '../index.ts'
import type { Database, Statement } from './driver.ts'
import type { Kept, Transaction } from './transaction.ts'

const TOKENS = 4_096
const ROWS = 1_024
const CACHED = 128
const BIT_BYTES = TOKENS / 8
const PRINT_BYTES = 4
/** Fingerprints that a row grows by. */
const GROWTH = 64

interface Bits extends Kept {
  bits: Uint8Array
}

export class Acked {
  readonly #txn: Transaction
  readonly #cache = new Map<string, Bits>()
  readonly #read: Statement<[number, number], Buffer>
  readonly #write: Statement<[number, number, Uint8Array]>
  readonly #trim: Statement<[{ type: number; rows: number }]>

  constructor(db: Database, txn: Transaction) {
    this.#txn = txn
    this.#read = db.prepare<[number, number], Buffer>('SELECT bits FROM acked WHERE type = ? AND segment = ?').pluck()
    this.#write = db.prepare(
      `INSERT INTO acked(type, segment, bits) VALUES(?, ?, ?) ON CONFLICT(type, segment)
        DO UPDATE SET bits = excluded.bits`,
    )
    this.#trim = db.prepare(
      `DELETE FROM acked WHERE type = :type AND segment <= (SELECT segment FROM acked WHERE type = :type
        ORDER BY segment DESC LIMIT 1 OFFSET :rows)`,
    )
  }

  has(type: number, token: number, id: string): boolean {
    const at = token % TOKENS
    const bits = this.#load(type, Math.floor(token / TOKENS), false)?.bits
    if (bits === undefined || ((bits[at >> 3] ?? 0) & (1 << (at & 7))) === 0) return false
    const print = printsEnd(at) <= bits.length ? viewOf(bits).getUint32(printAt(at)) : 0
    return print === 0 || print === fingerprintOf(id)
  }

  mark(type: number, token: number, id: string): void {
    const segment = Math.floor(token / TOKENS)
    const row = this.#load(type, segment, true)
    if (row === undefined) return
    if (this.#txn.keep(row, () => void this.#write.run(type, segment, row.bits)))
      this.#txn.onRollback(() => void this.#cache.delete(`${type}:${segment}`))
    const at = token % TOKENS
    if (row.bits.length < printsEnd(at)) row.bits = grown(row.bits, at)
    row.bits[at >> 3] = (row.bits[at >> 3] ?? 0) | (1 << (at & 7))
    viewOf(row.bits).setUint32(printAt(at), fingerprintOf(id))
  }

  #load(type: number, segment: number, make: boolean): Bits | undefined {
    const key = `${type}:${segment}`
    const cached = this.#cache.get(key)
    if (cached !== undefined) return cached
    const stored = this.#read.get(type, segment)
    if (stored === undefined && !make) return undefined
    const row = { bits: Uint8Array.from(stored ?? new Uint8Array(BIT_BYTES)), kept: 0 }
    if (this.#cache.size >= CACHED) this.#evict()
    this.#cache.set(key, row)
    if (stored === undefined) this.#trim.run({ type, rows: ROWS })
    return row
  }

  /** Rows of the running transaction stay: the database does not have them yet. */
  #evict(): void {
    for (const [key, row] of this.#cache) if (!this.#txn.isKept(row)) this.#cache.delete(key)
  }
}

const printAt = (at: number): number => BIT_BYTES + at * PRINT_BYTES
const printsEnd = (at: number): number => printAt(at) + PRINT_BYTES
const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView =>
  new DataView(buffer, byteOffset, byteLength)

function grown(bits: Uint8Array, at: number): Uint8Array {
  const larger = new Uint8Array(BIT_BYTES + Math.ceil((at + 1) / GROWTH) * GROWTH * PRINT_BYTES)
  larger.set(bits)
  return larger
}
