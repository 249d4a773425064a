/** @module storage/sqlite/engine-pause  TaskPause pauses and resumes task queues. */
import { lastingPause, type NewPause, type Pause, type Sync, type Tasks } from '../index.ts'
import type { Database } from './driver.ts'
import { KIND, type Names } from './names.ts'
import type { Queues } from './queues.ts'
import type { TaskDeps } from './task-rows.ts'
import type { Transaction } from './transaction.ts'

type PauseRow = [type: number, until: number | null, since: number, actor: string, note: string | null]

function statementsOf(db: Database) {
  return {
    put: db.prepare<PauseRow>(
      `INSERT INTO pause(type, until, since, actor, note) VALUES(?, ?, ?, ?, ?)
        ON CONFLICT(type) DO UPDATE SET until = excluded.until, since = excluded.since, actor = excluded.actor,
        note = excluded.note`,
    ),
    remove: db.prepare<[number]>('DELETE FROM pause WHERE type = ?'),
  }
}

export class TaskPause implements Pick<Sync<Tasks>, 'pause' | 'resume'> {
  readonly #txn: Transaction
  readonly #names: Names
  readonly #queues: Queues
  readonly #sql: ReturnType<typeof statementsOf>

  constructor({ db, txn, names, queues }: TaskDeps) {
    this.#txn = txn
    this.#names = names
    this.#queues = queues
    this.#sql = statementsOf(db)
  }

  /** If the queue is paused already, it stays so since the same time. */
  pause(typeName: string, { note, actor, untilMs }: NewPause): Pause {
    const { nowMs } = this.#txn
    const queue = this.#queues.change(this.#names.number(KIND.type, typeName))
    const sinceMs = lastingPause(queue.pause, nowMs)?.sinceMs ?? nowMs
    queue.pause = { note, actor, sinceMs, untilMs }
    this.#sql.put.run(queue.type, untilMs, sinceMs, actor, note)
    return queue.pause
  }

  resume(typeName: string): boolean {
    const type = this.#names.find(KIND.type, typeName)
    const stored = type === undefined ? undefined : this.#queues.find(type)?.pause
    if (type === undefined || stored === undefined || stored === null) return false
    this.#queues.change(type).pause = null
    this.#sql.remove.run(type)
    return lastingPause(stored, this.#txn.nowMs) !== null
  }
}
