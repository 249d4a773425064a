/**
 * @module storage/sqlite/engine-sweep
 * TaskSweep does what is due by time: it takes tasks back whose deadline has passed, promotes due tasks and forgets
 * expired idempotency keys and outcomes.
 */
import {
  isLostTooOften,
  lostLeaseError,
  OUTCOMES_PER_SWEEP,
  type SweepResult,
  type Sync,
  type Tasks,
  type Tier,
} from '../index.ts'
import type { DeadGroupIndex } from './dead-group-index.ts'
import type { Database } from './driver.ts'
import type { ScheduledTasks } from './scheduled-tasks.ts'
import type { TokenSequences } from './token-sequences.ts'
import { KIND, type Names } from './names.ts'
import type { Queue, Queues } from './queues.ts'
import type { RetainedOutcomes } from './retained-outcomes.ts'
import type { ReplayCounters } from './replay-counters.ts'
import { columnWith, markedColumn, replayIn, type TaskDeps, type TaskRows } from './task-rows.ts'
import type { Transaction } from './transaction.ts'

interface OverdueTask {
  readonly pk: number
  readonly ownTier: Tier
  /** Leases that it lost before. */
  readonly lost: number
  readonly attempt: number
  readonly worker: string | null
  /** Failed attempts as JSON. */
  readonly attempts: string | null
  readonly grp: string | null
}

const NOTHING: SweepResult = { requeued: 0, promoted: 0, dead: 0, forgottenKeys: 0, more: false }

function statementsOf(db: Database) {
  return {
    overdue: db.prepare<[number, number, number], OverdueTask>(
      `SELECT pk, own_tier AS ownTier, lost, attempt, worker, attempts, grp FROM task
        WHERE type = ? AND place = 1 AND due <= ?
        ORDER BY due, token LIMIT ?`,
    ),
    countLost: db.prepare<[string, number]>('UPDATE task SET lost = lost + 1, attempts = ? WHERE pk = ?'),
    moveToDead: db.prepare<[number, number, string, string | null, number]>(
      `UPDATE task SET place = 3, ord = ?, due = ?, error = ?, attempts = ?, lost = lost + 1, token = NULL,
        worker = NULL WHERE pk = ?`,
    ),
    expiredKeys: db
      .prepare<[number, number, number], string>(
        'SELECT key FROM idem WHERE type = ? AND expires <= ? ORDER BY expires LIMIT ?',
      )
      .pluck(),
    forgetKey: db.prepare<[number, string]>('DELETE FROM idem WHERE type = ? AND key = ?'),
  }
}

export class TaskSweep implements Pick<Sync<Tasks>, 'sweep'> {
  readonly #txn: Transaction
  readonly #names: Names
  readonly #sequences: TokenSequences
  readonly #queues: Queues
  readonly #rows: TaskRows
  readonly #outcomes: RetainedOutcomes
  readonly #scheduled: ScheduledTasks
  readonly #deadGroups: DeadGroupIndex
  readonly #replays: ReplayCounters
  readonly #sql: ReturnType<typeof statementsOf>

  constructor(deps: TaskDeps, scheduled: ScheduledTasks) {
    const { db, txn, names, outcomes, sequences, queues, rows, deadGroups, replays } = deps
    this.#replays = replays
    this.#deadGroups = deadGroups
    this.#outcomes = outcomes
    this.#txn = txn
    this.#names = names
    this.#sequences = sequences
    this.#queues = queues
    this.#rows = rows
    this.#scheduled = scheduled
    this.#sql = statementsOf(db)
  }

  sweep(typeName: string, maxLost: number, limit: number): SweepResult {
    const type = this.#names.find(KIND.type, typeName)
    if (type === undefined) return NOTHING
    const queue = this.#queues.change(type)
    const { requeued, dead } = this.#takeOverdue(queue, maxLost, limit)
    const promoted = this.#scheduled.promote(queue, limit)
    const forgottenKeys = this.#forgetKeys(type, limit)
    this.#outcomes.forgetExpired(queue, Math.min(limit, OUTCOMES_PER_SWEEP))
    queue.groups?.forgetUnusedRates()
    const isAnyForgettable = this.#isAnyKeyExpired(type) || this.#outcomes.isAnyExpired(queue)
    const more = this.#isAnyOverdue(queue) || this.#scheduled.isAnyDue(queue) || isAnyForgettable
    return { requeued, promoted, dead, forgottenKeys, more }
  }

  #takeOverdue(queue: Queue, maxLost: number, limit: number): { readonly requeued: number; readonly dead: number } {
    const overdue = queue.inFlight === 0 ? [] : this.#sql.overdue.all(queue.type, this.#txn.nowMs, limit)
    const isDead = ({ lost }: OverdueTask): boolean => isLostTooOften(lost + 1, maxLost)
    const dead = overdue.filter(isDead)
    const requeued = overdue.filter((task) => !isDead(task))
    queue.inFlight -= overdue.length
    if (queue.groups !== null) for (const { grp } of overdue) queue.groups.endLease(grp)
    this.#moveToDead(queue, dead)
    // The earliest deadline goes last, so that it ends up at the very front.
    for (const task of requeued.toReversed()) {
      this.#sql.countLost.run(this.#attemptsOf(task), task.pk)
      this.#rows.toFront(queue, task)
    }
    return { requeued: requeued.length, dead: dead.length }
  }

  #moveToDead(queue: Queue, tasks: readonly OverdueTask[]): void {
    if (tasks.length === 0) return
    for (const task of tasks) {
      const error = lostLeaseError(task.lost + 1)
      this.#deadGroups.add(queue.type, { pk: task.pk, ord: queue.death, due: this.#txn.nowMs, error })
      this.#replays.count(queue.type, replayIn(task.attempts), 'died')
      const attempts = markedColumn(this.#attemptsOf(task), undefined)
      this.#sql.moveToDead.run(queue.death++, this.#txn.nowMs, error, attempts, task.pk)
    }
    queue.dead += tasks.length
    this.#sequences.change(queue.type).died += tasks.length
  }

  /** The attempts of a task with the lease that it lost. */
  #attemptsOf({ attempt, worker, attempts }: OverdueTask): string {
    const lost = { attempt, atMs: this.#txn.nowMs, error: null, worker: worker ?? '' }
    return columnWith(attempts, { kind: 'lease_lost', ...lost })
  }

  #forgetKeys(type: number, limit: number): number {
    const keys = this.#sql.expiredKeys.all(type, this.#txn.nowMs, limit)
    for (const key of keys) this.#sql.forgetKey.run(type, key)
    return keys.length
  }

  #isAnyOverdue({ type, inFlight }: Readonly<Queue>): boolean {
    return inFlight > 0 && this.#sql.overdue.get(type, this.#txn.nowMs, 1) !== undefined
  }

  #isAnyKeyExpired(type: number): boolean {
    return this.#sql.expiredKeys.get(type, this.#txn.nowMs, 1) !== undefined
  }
}
