/** @module storage/sqlite/engine-cancel  TaskCancellation removes tasks that are not dead, and retains outcomes. */
import { DEFAULT_MAX_OUTCOMES } from '../../protocol/index.ts'
import { CANCELLED, DEAD, finishedAs, NOT_FOUND, type CancelResult, type Sync, type Tasks } from '../index.ts'
import type { Database } from './driver.ts'
import type { TokenSequences } from './token-sequences.ts'
import { KIND, type Names } from './names.ts'
import { PLACE, type Queue, type Queues } from './queues.ts'
import type { RetainedOutcomes } from './retained-outcomes.ts'
import { isCleared, type TaskDeps, type TaskRows } from './task-rows.ts'

/** A task before it is removed. */
interface CancelledTask {
  /** Null of a task that is not in flight. */
  readonly worker: string | null
  /** How long its outcome is retained; null: not at all. */
  readonly retain: number | null
  /** Failed attempts as JSON. */
  readonly attempts: string | null
}

const NOTHING: CancelledTask = { worker: null, retain: null, attempts: null }

/** Who cancels, and how many outcomes the type may have. */
interface Cancel {
  readonly actor: string
  readonly maxOutcomes: number
}

function statementsOf(db: Database) {
  return {
    find: db.prepare<[number], CancelledTask>('SELECT worker, retain, attempts FROM task WHERE pk = ?'),
    count: db.prepare<[number, number]>(
      'INSERT INTO cancelled(type, n) VALUES(?, ?) ON CONFLICT(type) DO UPDATE SET n = excluded.n',
    ),
  }
}

export class TaskCancellation implements Pick<Sync<Tasks>, 'cancel'> {
  readonly #names: Names
  readonly #outcomes: RetainedOutcomes
  readonly #sequences: TokenSequences
  readonly #queues: Queues
  readonly #rows: TaskRows
  readonly #sql: ReturnType<typeof statementsOf>

  constructor({ db, names, outcomes, sequences, queues, rows }: TaskDeps) {
    this.#outcomes = outcomes
    this.#names = names
    this.#sequences = sequences
    this.#queues = queues
    this.#rows = rows
    this.#sql = statementsOf(db)
  }

  cancel(
    typeName: string,
    ids: readonly string[],
    actor: string,
    maxOutcomes = DEFAULT_MAX_OUTCOMES,
  ): readonly CancelResult[] {
    const type = this.#names.find(KIND.type, typeName)
    if (type === undefined) return ids.map(() => NOT_FOUND)
    const queue = this.#queues.change(type)
    const before = queue.cancelled
    const named = new Set<string>()
    const results = ids.map((id) => {
      if (named.has(id)) return NOT_FOUND
      named.add(id)
      return this.#cancel(queue, id, { actor, maxOutcomes })
    })
    if (queue.cancelled > before) this.#sql.count.run(type, queue.cancelled)
    return results
  }

  /** Removes a task that is not dead, as `cancel` does, without an outcome. */
  cancelOne(queue: Queue, id: string): void {
    this.#cancel(queue, id, null)
    this.#sql.count.run(queue.type, queue.cancelled)
  }

  /** @param by Null: no outcome is kept. */
  #cancel(queue: Queue, id: string, by: Cancel | null): CancelResult {
    const row = this.#rows.find(queue.type, id)
    if (row === undefined || isCleared(row, this.#sequences.deadCutOf(queue.type)))
      return finishedAs(this.#outcomes.find(queue, id)?.kind)
    if (row.place === PLACE.dead) return DEAD
    const { worker, retain: retainMs, attempts } = this.#sql.find.get(row.pk) ?? NOTHING
    if (retainMs !== null && by !== null) {
      const end = { kind: 'cancelled', worker: null, actor: by.actor, result: null } as const
      this.#outcomes.keep(queue, { id, attempt: 0, retainMs, attempts }, end, by.maxOutcomes)
    }
    this.#rows.remove(row.pk)
    queue.cancelled += 1
    if (row.place === PLACE.pending) {
      queue.pending[row.tier] -= 1
      queue.groups?.remove(row.grp)
      return CANCELLED.pending
    }
    if (row.place === PLACE.scheduled) {
      queue.scheduled -= 1
      return CANCELLED.scheduled
    }
    queue.inFlight -= 1
    queue.groups?.endLease(row.grp)
    return { kind: 'cancelled', was: 'in_flight', worker: worker ?? '', token: row.token ?? 0 }
  }
}
