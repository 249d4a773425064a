/**
 * @module storage/sqlite/names
 * Names maps types, pools and namespaces to small integers. The name of a type or pool is never removed: its counter
 * must survive what it counted. A removed number is not used again while the store is open.
 */
import type { Database, Statement } from './driver.ts'
import type { Transaction } from './transaction.ts'

/** The spaces of names; the numbers are stored. */
export const KIND = { type: 1, pool: 2, kv: 3, lock: 4, counter: 5 } as const
export type Kind = (typeof KIND)[keyof typeof KIND]

export class Names {
  readonly #known = new Map<string, number>()
  readonly #names = new Map<number, string>()
  readonly #txn: Transaction
  readonly #insert: Statement<[number, number, string]>
  readonly #delete: Statement<[number]>
  #last = 0

  constructor(db: Database, txn: Transaction) {
    this.#txn = txn
    this.#insert = db.prepare('INSERT INTO name(n, kind, s) VALUES(?, ?, ?)')
    this.#delete = db.prepare('DELETE FROM name WHERE n = ?')
    for (const row of db.prepare<[], { n: number; kind: Kind; s: string }>('SELECT n, kind, s FROM name').iterate())
      this.#remember(row.n, row.kind, row.s)
  }

  /** Undefined where nothing was ever stored under the name: a read makes no name. */
  find(kind: Kind, name: string): number | undefined {
    return this.#known.get(`${kind}${name}`)
  }

  /** The number of the name, made where it is new. */
  number(kind: Kind, name: string): number {
    const known = this.find(kind, name)
    if (known !== undefined) return known
    const made = this.#last + 1
    this.#insert.run(made, kind, name)
    this.#remember(made, kind, name)
    this.#txn.onRollback(() => this.#forget(made, kind, name))
    return made
  }

  /** Removes the name of a namespace that holds nothing. */
  remove(kind: Kind, n: number): void {
    const name = this.#names.get(n) ?? ''
    this.#delete.run(n)
    this.#forget(n, kind, name)
    this.#txn.onRollback(() => this.#remember(n, kind, name))
  }

  /** The numbers of one kind. */
  all(kind: Kind): readonly number[] {
    return [...this.#known].flatMap(([name, n]) => (name.startsWith(String(kind)) ? [n] : []))
  }

  #remember(n: number, kind: Kind, name: string): void {
    this.#known.set(`${kind}${name}`, n)
    this.#names.set(n, name)
    this.#last = Math.max(this.#last, n)
  }

  #forget(n: number, kind: Kind, name: string): void {
    this.#known.delete(`${kind}${name}`)
    this.#names.delete(n)
  }
}
