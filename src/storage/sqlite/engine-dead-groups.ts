/**
 * @module storage/sqlite/engine-dead-groups
 * DeadTaskGroups lists, replays and removes dead tasks by groups of errors, newest death first (D157).
 */
import { MAX_RESPONSE_BYTES } from '../../protocol/index.ts'
import {
  exampleError,
  GROUP_DEATHS_READ,
  listCursor,
  pacedDueMs,
  takeWithin,
  workerOfDeath,
  workersOfDeaths,
  type DeadGroup,
  type DeadRow,
  type NewestDead,
  type DeadGroupAct,
} from '../index.ts'
import type { DeadGroupIndex, DeadTaskRow } from './dead-group-index.ts'
import type { Database } from './driver.ts'
import { charsOfDeath, type DeadTasks, type ListedDeath } from './engine-dead.ts'
import { KIND, type Names } from './names.ts'
import type { Queues } from './queues.ts'
import { attemptsIn, type TaskDeps, type TaskRow } from './task-rows.ts'
import type { TokenSequences } from './token-sequences.ts'
import type { Transaction } from './transaction.ts'

interface NewestRow {
  readonly id: string
  readonly ord: number
  readonly due: number
  readonly error: string | null
  readonly attempts: string | null
}

/** The rows of one group, also those that were cleared. */
const IN_GROUP = 'type = ? AND place = 3 AND egroup_ord = ord AND egroup = ?'
const LISTED = `task.ord, task.id, task.attempt, body, lease_max AS maxAttempts, error AS lastError,
  task.due AS diedAtMs, task.attempts FROM task JOIN body ON body.pk = task.pk`

function statementsOf(db: Database) {
  return {
    newestOfGroup: db.prepare<[number, string, number, number], NewestRow>(
      `SELECT id, ord, due, error, attempts FROM task WHERE ${IN_GROUP} AND ord > ?
        ORDER BY due DESC, ord DESC LIMIT ?`,
    ),
    oldestOfGroup: db
      .prepare<[number, string, number, number], number>(
        `SELECT due FROM task WHERE ${IN_GROUP} AND due >= ? AND ord > ? ORDER BY due, ord LIMIT 1`,
      )
      .pluck(),
    clearedAt: db
      .prepare<[number, number], number>(
        'SELECT due FROM task WHERE type = ? AND place = 3 AND ord <= ? ORDER BY ord DESC LIMIT 1',
      )
      .pluck(),
    before: db.prepare<[number, string, number, number, number, number], Replayable>(
      `SELECT pk, ttl, grp, attempts FROM task
        WHERE ${IN_GROUP} AND due >= ? AND ord > ? AND due < ? ORDER BY due, ord LIMIT ?`,
    ),
    pageOfGroup: db.prepare<[number, string, number, number, number, number], ListedDeath>(
      `SELECT ${LISTED} WHERE ${IN_GROUP} AND (due, ord) < (?, ?) AND ord > ? ORDER BY due DESC, ord DESC LIMIT ?`,
    ),
    page: db.prepare<[number, number, number, number], ListedDeath>(
      `SELECT ${LISTED} WHERE type = ? AND place = 3 AND ord < ? AND ord > ? ORDER BY ord DESC LIMIT ?`,
    ),
    one: db.prepare<[number], ListedDeath>(`SELECT ${LISTED} WHERE task.pk = ?`),
    ungrouped: db.prepare<[number, number, number], DeadTaskRow>(
      `SELECT pk, ord, due, error FROM task WHERE type = ? AND place = 3 AND egroup_ord IS NOT ord AND ord > ?
        ORDER BY ord LIMIT ?`,
    ),
    edit: db.prepare<[string, number]>('UPDATE body SET body = ? WHERE pk = ?'),
  }
}
type Replayable = Pick<TaskRow, 'pk' | 'ttl' | 'grp' | 'attempts'>

export class DeadTaskGroups {
  readonly #txn: Transaction
  readonly #names: Names
  readonly #sequences: TokenSequences
  readonly #queues: Queues
  readonly #index: DeadGroupIndex
  readonly #dead: DeadTasks
  readonly #sql: ReturnType<typeof statementsOf>

  constructor({ db, txn, names, sequences, queues, deadGroups }: TaskDeps, dead: DeadTasks) {
    this.#txn = txn
    this.#names = names
    this.#sequences = sequences
    this.#queues = queues
    this.#index = deadGroups
    this.#dead = dead
    this.#sql = statementsOf(db)
  }

  list(typeName: string): readonly DeadGroup[] {
    const type = this.#names.find(KIND.type, typeName)
    if (type === undefined) return []
    const counts = this.#index.of(type)
    const [cut, clearedAtMs] = this.#cut(type)
    const found = counts.counts().flatMap(([group, count]) => {
      const newest = this.#sql.newestOfGroup.all(type, group, cut, GROUP_DEATHS_READ)
      const [example] = newest
      if (example === undefined) return []
      const row: DeadGroup = {
        group,
        count,
        firstDiedAtMs: this.#sql.oldestOfGroup.get(type, group, clearedAtMs, cut) ?? example.due,
        lastDiedAtMs: example.due,
        trend: counts.trend(group, this.#txn.nowMs),
        workers: workersOfDeaths(newest.map(({ attempts }) => workerOfDeath(attemptsIn(attempts).attempts))),
        example: { id: example.id, lastError: exampleError(example.error ?? '') },
      }
      return [{ row, ord: example.ord }]
    })
    return found.toSorted((a, b) => b.ord - a.ord).map(({ row }) => row)
  }

  /** @returns whether more is left. */
  repair(typeName: string, n: number): boolean {
    const type = this.#names.find(KIND.type, typeName)
    if (type === undefined) return false
    const found = this.#sql.ungrouped.all(type, this.#sequences.deadCutOf(type), n)
    for (const row of found) this.#index.add(type, row)
    return found.length === n
  }

  newest(
    typeName: string,
    group: string | null,
    before: string | null,
    n: number,
    bytes = MAX_RESPONSE_BYTES,
  ): NewestDead {
    const type = this.#names.find(KIND.type, typeName)
    if (type === undefined) return { items: [], next: null }
    const cut = this.#sequences.deadCutOf(type)
    const last = Number.MAX_SAFE_INTEGER
    const [due, ord] = before === null ? [last, last] : listCursor(before)
    const rows =
      group === null
        ? this.#sql.page.iterate(type, ord, cut, n + 1)
        : this.#sql.pageOfGroup.iterate(type, group, due, ord, cut, n + 1)
    // One more than fits is read, which shows whether there is another page.
    let read = 0
    const sizeOf = (row: ListedDeath): number => {
      read += 1
      return read > n ? Infinity : charsOfDeath(row)
    }
    const found = takeWithin(rows, sizeOf, bytes)
    const end = found.at(-1)
    return {
      items: found.map(rowOf),
      next: read > found.length && end !== undefined ? `${end.diedAtMs}:${end.ord}` : null,
    }
  }

  apply(typeName: string, { group, action, diedBeforeMs, n, pace, replay }: DeadGroupAct): number {
    const type = this.#names.find(KIND.type, typeName)
    if (type === undefined) return 0
    const queue = this.#queues.change(type)
    const [cut, clearedAtMs] = this.#cut(type)
    const found = this.#sql.before.all(type, group, clearedAtMs, cut, diedBeforeMs, n)
    this.#dead.openReplay(type, replay)
    for (const [i, row] of found.entries())
      if (action === 'remove') this.#dead.removeOne(queue, row)
      else this.#dead.replayOne(queue, row, { replay, dueAtMs: pace && pacedDueMs(this.#txn.nowMs, pace, i) })
    return found.length
  }

  task(typeName: string, id: string): DeadRow | null {
    const row = this.#find(typeName, id)
    const found = row === undefined ? undefined : this.#sql.one.get(row.pk)
    return found === undefined ? null : rowOf(found)
  }

  replayEdited(typeName: string, id: string, diedAtMs: number, body: string): boolean {
    const type = this.#names.find(KIND.type, typeName)
    const row = this.#find(typeName, id)
    if (type === undefined || row?.due !== diedAtMs) return false
    this.#sql.edit.run(body, row.pk)
    this.#dead.replayOne(this.#queues.change(type), row)
    return true
  }

  #find(typeName: string, id: string): TaskRow | undefined {
    const type = this.#names.find(KIND.type, typeName)
    return type === undefined ? undefined : this.#dead.find(type, id)
  }

  /** Up to which death the rows were cleared, and the time of that death: no later one is earlier. */
  #cut(type: number): readonly [ord: number, atMs: number] {
    const cut = this.#sequences.deadCutOf(type)
    return [cut, cut === 0 ? 0 : (this.#sql.clearedAt.get(type, cut) ?? 0)]
  }
}

function rowOf({ ord: _ord, attempts, ...row }: ListedDeath): DeadRow {
  return { ...row, ...attemptsIn(attempts) }
}
