/**
 * @module storage/sqlite/scheduled-tasks
 * ScheduledTasks makes scheduled tasks pending when they are due: retries, and tasks that were submitted with a delay.
 */
import type { Tier } from '../index.ts'
import type { Database } from './driver.ts'
import type { Queue } from './queues.ts'
import type { TaskDeps } from './task-rows.ts'
import type { Transaction } from './transaction.ts'

function statementsOf(db: Database) {
  return {
    due: db.prepare<[number, number, number], { pk: number; ownTier: Tier; grp: string | null }>(
      `SELECT pk, own_tier AS ownTier, grp FROM task WHERE type = ? AND place = 2 AND due <= ?
        ORDER BY due, ord LIMIT ?`,
    ),
    promote: db.prepare<[number, number, number]>(
      'UPDATE task SET place = 0, tier = ?, ord = ?, due = NULL WHERE pk = ?',
    ),
    nextDue: db.prepare<[number], number | null>('SELECT min(due) FROM task WHERE type = ? AND place = 2').pluck(),
  }
}

export class ScheduledTasks {
  readonly #txn: Transaction
  readonly #sql: ReturnType<typeof statementsOf>

  constructor({ db, txn }: TaskDeps) {
    this.#txn = txn
    this.#sql = statementsOf(db)
  }

  /** Moves due tasks to the back of their tiers, in due order. @returns how many, at most `limit`. */
  promote(queue: Queue, limit: number): number {
    if (queue.scheduled === 0) return 0
    const due = this.#sql.due.all(queue.type, this.#txn.nowMs, limit)
    for (const { pk, ownTier, grp } of due) {
      this.#sql.promote.run(ownTier, queue.back++, pk)
      queue.pending[ownTier] += 1
      queue.groups?.add(grp)
    }
    queue.scheduled -= due.length
    return due.length
  }

  /** When the next retry is due; `null` if none is scheduled. */
  nextDueAtMs({ type, scheduled }: Readonly<Queue>): number | null {
    return scheduled === 0 ? null : (this.#sql.nextDue.get(type) ?? null)
  }

  isAnyDue({ type, scheduled }: Readonly<Queue>): boolean {
    return scheduled > 0 && this.#sql.due.get(type, this.#txn.nowMs, 1) !== undefined
  }
}
