/**
 * @module storage/sqlite/dead-group-index
 * DeadGroupIndex puts dead tasks into the groups of their errors, and counts the groups in memory (D157). The rows of a
 * group are found by the index `task_dead_group`, and those that have none by `task_dead_ungrouped` (schema.ts).
 */
import { DeadGroupCounts, errorGroup, TREND_INTERVAL_MS } from '../index.ts'
import type { Database } from './driver.ts'
import type { Transaction } from './transaction.ts'

/** What the group of a dead task depends on. */
export interface DeadTaskRow {
  readonly pk: number
  /** Number of its death. */
  readonly ord: number
  /** When it died. */
  readonly due: number
  readonly error: string | null
}

interface CountedRows {
  readonly type: number
  readonly egroup: string
  readonly interval: number
  readonly tasks: number
}

const COUNTS = `SELECT type, egroup, due / ${TREND_INTERVAL_MS} AS interval, count(*) AS tasks
  FROM task LEFT JOIN fence ON fence.n = task.type
  WHERE place = 3 AND egroup_ord = ord AND ord > coalesce(dead_cut, 0) GROUP BY type, egroup, interval`

function statementsOf(db: Database) {
  return {
    put: db.prepare<[string, number, number]>('UPDATE task SET egroup = ?, egroup_ord = ? WHERE pk = ?'),
    find: db.prepare<[number], { egroup: string; due: number }>(
      'SELECT egroup, due FROM task WHERE pk = ? AND place = 3 AND egroup_ord = ord',
    ),
  }
}

export class DeadGroupIndex {
  readonly #txn: Transaction
  readonly #counts = new Map<number, DeadGroupCounts>()
  readonly #sql: ReturnType<typeof statementsOf>

  constructor(db: Database, txn: Transaction) {
    this.#txn = txn
    this.#sql = statementsOf(db)
    for (const { type, egroup, interval, tasks } of db.prepare<[], CountedRows>(COUNTS).iterate())
      this.of(type).add(egroup, interval * TREND_INTERVAL_MS, tasks)
  }

  of(type: number): DeadGroupCounts {
    let counts = this.#counts.get(type)
    if (counts === undefined) this.#counts.set(type, (counts = new DeadGroupCounts()))
    return counts
  }

  /** Puts a task that dies, or a dead one that has no group, into a group. */
  add(type: number, { pk, ord, due, error }: DeadTaskRow): void {
    const counts = this.of(type)
    const group = counts.groupFor(errorGroup(error ?? ''))
    this.#sql.put.run(group, ord, pk)
    counts.add(group, due)
    this.#txn.onRollback(() => counts.remove(group, due))
  }

  /** Call before a dead task leaves the dead letters. */
  remove(type: number, pk: number): void {
    const found = this.#sql.find.get(pk)
    if (found === undefined) return
    const { egroup, due } = found
    const counts = this.of(type)
    counts.remove(egroup, due)
    this.#txn.onRollback(() => counts.add(egroup, due))
  }

  /** Call when all dead tasks of the type are cleared. */
  clear(type: number): void {
    this.#txn.onRollback(this.of(type).clear())
  }
}
