/** @module storage/sqlite/engine-cancel  TaskCancellation removes tasks that are not dead. */
import { CANCELLED, DEAD, NOT_FOUND, type CancelResult, type Sync, type Tasks } from '../index.ts'
import type { Database } from './driver.ts'
import type { TokenSequences } from './token-sequences.ts'
import { KIND, type Names } from './names.ts'
import { PLACE, type Queue, type Queues } from './queues.ts'
import { isCleared, type TaskDeps, type TaskRows } from './task-rows.ts'

function statementsOf(db: Database) {
  return {
    /** Null of a task that is not in flight. */
    worker: db.prepare<[number], string | null>('SELECT worker FROM task WHERE pk = ?').pluck(),
    count: db.prepare<[number, number]>(
      'INSERT INTO cancelled(type, n) VALUES(?, ?) ON CONFLICT(type) DO UPDATE SET n = excluded.n',
    ),
  }
}

export class TaskCancellation implements Pick<Sync<Tasks>, 'cancel'> {
  readonly #names: Names
  readonly #sequences: TokenSequences
  readonly #queues: Queues
  readonly #rows: TaskRows
  readonly #sql: ReturnType<typeof statementsOf>

  constructor({ db, names, sequences, queues, rows }: TaskDeps) {
    this.#names = names
    this.#sequences = sequences
    this.#queues = queues
    this.#rows = rows
    this.#sql = statementsOf(db)
  }

  cancel(typeName: string, ids: readonly string[]): readonly CancelResult[] {
    const type = this.#names.find(KIND.type, typeName)
    if (type === undefined) return ids.map(() => NOT_FOUND)
    const queue = this.#queues.change(type)
    const before = queue.cancelled
    const named = new Set<string>()
    const results = ids.map((id) => {
      if (named.has(id)) return NOT_FOUND
      named.add(id)
      return this.#cancel(queue, id)
    })
    if (queue.cancelled > before) this.#sql.count.run(type, queue.cancelled)
    return results
  }

  /** Removes a task that is not dead, as `cancel` does. */
  cancelOne(queue: Queue, id: string): void {
    this.#cancel(queue, id)
    this.#sql.count.run(queue.type, queue.cancelled)
  }

  #cancel(queue: Queue, id: string): CancelResult {
    const row = this.#rows.find(queue.type, id)
    if (row === undefined || isCleared(row, this.#sequences.deadCutOf(queue.type))) return NOT_FOUND
    if (row.place === PLACE.dead) return DEAD
    const worker = this.#sql.worker.get(row.pk) ?? ''
    this.#rows.remove(row.pk)
    queue.cancelled += 1
    if (row.place === PLACE.pending) {
      queue.pending[row.tier] -= 1
      return CANCELLED.pending
    }
    if (row.place === PLACE.scheduled) {
      queue.scheduled -= 1
      return CANCELLED.scheduled
    }
    queue.inFlight -= 1
    return { kind: 'cancelled', was: 'in_flight', worker, token: row.token ?? 0 }
  }
}
