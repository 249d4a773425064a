/** @module storage/sqlite/declared-need  DeclaredNeed records once that the data of the store has a need (D121). */
import type { LayoutNeed } from '../index.ts'
import type { Database } from './driver.ts'
import { declareNeed } from './store.ts'
import type { Transaction } from './transaction.ts'

export class DeclaredNeed {
  readonly #db: Database
  readonly #txn: Transaction
  readonly #need: LayoutNeed
  #isDeclared = false

  constructor(db: Database, txn: Transaction, need: LayoutNeed) {
    this.#db = db
    this.#txn = txn
    this.#need = need
  }

  /** Call before the first row that has the need, in its transaction. */
  declare(): void {
    if (this.#isDeclared) return
    declareNeed(this.#db, this.#need)
    this.#isDeclared = true
    this.#txn.onRollback(() => void (this.#isDeclared = false))
  }
}
