/**
 * @module storage/sqlite/queue-groups
 * QueueGroups follows the groups of one type with a group policy (D119): their counts and positions in memory, the
 * times of their rates also in a table. A rollback undoes what the transaction changed. In the column of a task, '' is
 * the group `null`.
 */
import { GroupSchedule, type GroupCounts, type GroupPolicy, type GroupRow, type GroupTotals } from '../index.ts'
import type { Database, Statement } from './driver.ts'
import type { Kept, Transaction } from './transaction.ts'

/** Unused rates that are forgotten together. */
const FORGOTTEN_RATES = 500

export interface GroupStatements {
  readonly counts: Statement<[number], GroupCounts>
  readonly rates: Statement<[number, number], [string, number]>
  readonly saveRate: Statement<[number, string, number]>
  readonly unusedRates: Statement<[number, number, number], string>
  readonly forgetRate: Statement<[number, string]>
}

export function groupStatements(db: Database): GroupStatements {
  return {
    counts: db.prepare<[number], GroupCounts>(
      `SELECT coalesce(grp, '') AS name, sum(place = 0) AS pending, sum(place = 1) AS inFlight
        FROM task WHERE type = ? AND place < 2 GROUP BY coalesce(grp, '')`,
    ),
    rates: db
      .prepare<[number, number], [string, number]>('SELECT grp, tat FROM group_rate WHERE type = ? AND tat > ?')
      .raw(),
    saveRate: db.prepare<[number, string, number]>(
      'INSERT INTO group_rate(type, grp, tat) VALUES(?, ?, ?) ON CONFLICT(type, grp) DO UPDATE SET tat = excluded.tat',
    ),
    unusedRates: db
      .prepare<[number, number, number], string>('SELECT grp FROM group_rate WHERE type = ? AND tat <= ? LIMIT ?')
      .pluck(),
    forgetRate: db.prepare<[number, string]>('DELETE FROM group_rate WHERE type = ? AND grp = ?'),
  }
}

export class QueueGroups {
  readonly #txn: Transaction
  readonly #sql: GroupStatements
  readonly #type: number
  readonly #schedule: GroupSchedule
  readonly #mark: Kept = { kept: 0 }

  /** Reads the tasks of the type. */
  constructor(txn: Transaction, sql: GroupStatements, type: number, policy: GroupPolicy) {
    this.#txn = txn
    this.#sql = sql
    this.#type = type
    const { nowMs } = txn
    this.#schedule = new GroupSchedule(policy, sql.counts.all(type), sql.rates.all(type, nowMs), nowMs)
  }

  /** Call before the first change in a transaction. */
  begin(): void {
    if (!this.#txn.keep(this.#mark, () => this.save())) return
    this.#schedule.begin()
    this.#txn.onRollback(() => this.#schedule.restore())
  }

  /** Writes the times of rates that this transaction changed. */
  save(): void {
    for (const [name, tat] of this.#schedule.changedTats()) this.#sql.saveRate.run(this.#type, name, tat)
  }

  setPolicy(policy: GroupPolicy): void {
    this.#schedule.setPolicy(policy, this.#txn.nowMs)
  }

  /** The group that is next; undefined if none is ready. */
  first(): string | undefined {
    return this.#schedule.first(this.#txn.nowMs)
  }

  nextStartAtMs(): number | null {
    return this.#schedule.nextStartAtMs(this.#txn.nowMs)
  }

  rows(limit: number): readonly GroupRow[] {
    return this.#schedule.rows(limit, this.#txn.nowMs)
  }

  totals(): GroupTotals {
    return this.#schedule.totals(this.#txn.nowMs)
  }

  add(group: string | null): void {
    this.#schedule.add(group ?? '', this.#txn.nowMs)
  }

  remove(group: string | null): void {
    this.#schedule.remove(group ?? '', this.#txn.nowMs)
  }

  lease(group: string): void {
    this.#schedule.lease(group, this.#txn.nowMs)
  }

  endLease(group: string | null): void {
    this.#schedule.endLease(group ?? '', this.#txn.nowMs)
  }

  /** Removes times that permit a whole burst, as no time does. */
  forgetUnusedRates(): void {
    for (const name of this.#sql.unusedRates.all(this.#type, this.#txn.nowMs, FORGOTTEN_RATES))
      this.#sql.forgetRate.run(this.#type, name)
  }
}
