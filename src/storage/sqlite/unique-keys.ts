/**
 * @module storage/sqlite/unique-keys
 * UniqueKeys finds the last task that was queued with a unique key (D118). The key is a column of the task, so it ends
 * with the task; a program that does not know the column leaves it empty.
 */
import type { UniqueKey } from '../index.ts'
import { DeclaredNeed } from './declared-need.ts'
import type { Database } from './driver.ts'
import { PLACE, type PlaceNumber } from './queues.ts'
import type { Transaction } from './transaction.ts'

interface Named {
  readonly id: string
  readonly place: PlaceNumber
  /** 1 if the key conflicts until the task has finished. */
  readonly finished: number
}
/** A task with which a submit conflicts. */
interface Conflict {
  readonly id: string
  readonly isReplaced: boolean
}

function statementsOf(db: Database) {
  return {
    find: db.prepare<[number, string], Named>(
      'SELECT id, place, ufinished AS finished FROM task WHERE type = ? AND ukey = ?',
    ),
    release: db.prepare<[number, string]>('UPDATE task SET ukey = NULL WHERE type = ? AND ukey = ?'),
    record: db.prepare<[string, number, number, string]>(
      'UPDATE task SET ukey = ?, ufinished = ? WHERE type = ? AND id = ?',
    ),
  }
}

export class UniqueKeys {
  readonly #need: DeclaredNeed
  readonly #sql: ReturnType<typeof statementsOf>

  constructor(db: Database, txn: Transaction) {
    this.#need = new DeclaredNeed(db, txn, 'unique')
    this.#sql = statementsOf(db)
  }

  /** @returns the task with which a submit conflicts; `null` if there is none. */
  conflict(type: number, { key, onConflict }: UniqueKey): Conflict | null {
    const task = this.#sql.find.get(type, key)
    if (task === undefined || task.place === PLACE.dead) return null
    const isInFlight = task.place === PLACE.inFlight
    if (isInFlight && task.finished === 0) return null
    return { id: task.id, isReplaced: !isInFlight && onConflict === 'replace' }
  }

  /** Lets the key name this task, and no earlier one. */
  record(type: number, id: string, { key, until }: UniqueKey): void {
    this.#need.declare()
    this.#sql.release.run(type, key)
    this.#sql.record.run(key, until === 'finished' ? 1 : 0, type, id)
  }
}
