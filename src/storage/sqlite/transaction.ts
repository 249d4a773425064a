/**
 * @module storage/sqlite/transaction
 * Transaction makes the state in memory (counts, last tokens, known names) follow the database: it restores the state
 * on a rollback and writes it before the commit. Code that changes such a state calls `keep` first.
 */

/** A state held in memory; `kept` is the transaction that last saved it. */
export interface Kept {
  kept: number
}

export class Transaction {
  /** Backend time of the running transaction. */
  nowMs = 0
  #number = 0
  #undo: (() => void)[] = []
  #flush: (() => void)[] = []

  /** Grows with every state that was changed in memory. */
  get touches(): number {
    return this.#undo.length
  }

  begin(nowMs: number): void {
    this.nowMs = nowMs
    this.#number += 1
    this.#undo = []
    this.#flush = []
  }

  /**
   * Call before the first change of `state`; its fields and the arrays in them come back on a rollback. `flush` writes
   * it before the commit. False: this transaction did so before.
   */
  keep(state: Kept, flush?: () => void): boolean {
    if (state.kept === this.#number) return false
    const copy = Object.entries(state).map(
      ([key, value]) => [key, Array.isArray(value) ? [...(value as unknown[])] : (value as unknown)] as const,
    )
    state.kept = this.#number
    this.#undo.push(() => void Object.assign(state, Object.fromEntries(copy)))
    if (flush !== undefined) this.#flush.push(flush)
    return true
  }

  /** Whether this transaction changed `state`. */
  isKept(state: Readonly<Kept>): boolean {
    return state.kept === this.#number
  }

  /** For what `keep` cannot hold: an entry added to a map. */
  onRollback(undo: () => void): void {
    this.#undo.push(undo)
  }

  flush(): void {
    for (const each of this.#flush) each()
  }

  rollback(): void {
    for (const each of this.#undo.toReversed()) each()
    this.#undo = []
    this.#flush = []
  }
}
