/**
 * @module storage/sqlite/sizes
 * Sizes keeps the number of rows of each namespace, pool or type in memory, so that a bound costs no count per call. It
 * counts them at the first use and follows the transaction after that.
 */
import type { Database, Statement } from './driver.ts'
import type { Kept, Transaction } from './transaction.ts'

interface Size extends Kept {
  rows: number
}

export class Sizes {
  readonly #txn: Transaction
  readonly #count: Statement<[number], number>
  readonly #sizes = new Map<number, Size>()

  /** @param count SQL that returns the number of rows of one id. */
  constructor(db: Database, txn: Transaction, count: string) {
    this.#txn = txn
    this.#count = db.prepare<[number], number>(count).pluck()
  }

  of(n: number): number {
    return this.#size(n).rows
  }

  add(n: number, rows: number): void {
    const size = this.#size(n)
    this.#txn.keep(size)
    size.rows += rows
  }

  /** Counted from the table as it is now, so it is asked for before the first change of a transaction. */
  #size(n: number): Size {
    let size = this.#sizes.get(n)
    if (size === undefined) {
      size = { rows: this.#count.get(n) ?? 0, kept: 0 }
      this.#sizes.set(n, size)
      this.#txn.onRollback(() => void this.#sizes.delete(n))
    }
    return size
  }
}
