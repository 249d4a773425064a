/**
 * @module storage/sqlite/engine-list
 * TaskListing lists the tasks of one place page by page. A cursor has the two numbers that order the place: tier and
 * `ord` of pending tasks, deadline and token of those in flight, due time and `ord` of scheduled ones, `ord` of dead
 * ones.
 */
import { MAX_RESPONSE_BYTES } from '../../protocol/index.ts'
import {
  listCursor,
  takeWithin,
  type ListedTask,
  type Sync,
  type TaskList,
  type TaskPlace,
  type Tasks,
} from '../index.ts'
import type { Database, Statement } from './driver.ts'
import type { TokenSequences } from './token-sequences.ts'
import { KIND, type Names } from './names.ts'
import type { TaskDeps } from './task-rows.ts'

interface Row extends ListedTask {
  /** Its position. */
  readonly first: number
  readonly second: number
}
/** Every position is behind this one: tiers, times and numbers of deaths are 0 or more. */
const BEFORE_ALL = [-1, 0] as const
type List = Statement<[type: number, first: number, second: number, limit: number], Row>

/** `first` and `second` are the columns of the position, as the partial index of the place orders them. */
function listOf(db: Database, place: number, [first, second]: readonly [string, string], columns: string): List {
  return db.prepare(
    `SELECT ${first} AS first, ${second} AS second, id, attempt, ${columns}, body
      FROM task JOIN body ON body.pk = task.pk
      WHERE type = ? AND place = ${place} AND (${first}, ${second}) > (?, ?) ORDER BY ${first}, ${second} LIMIT ?`,
  )
}

function statementsOf(db: Database): Readonly<Record<TaskPlace, List>> {
  return {
    pending: listOf(db, 0, ['tier', 'ord'], 'NULL AS atMs, NULL AS worker, NULL AS error'),
    in_flight: listOf(db, 1, ['due', 'token'], 'due AS atMs, worker, NULL AS error'),
    scheduled: listOf(db, 2, ['due', 'ord'], 'due AS atMs, NULL AS worker, NULL AS error'),
    dead: listOf(db, 3, ['ord', 'task.pk'], 'due AS atMs, NULL AS worker, error'),
  }
}

export class TaskListing implements Pick<Sync<Tasks>, 'list'> {
  readonly #names: Names
  readonly #sequences: TokenSequences
  readonly #sql: ReturnType<typeof statementsOf>

  constructor({ db, names, sequences }: TaskDeps) {
    this.#names = names
    this.#sequences = sequences
    this.#sql = statementsOf(db)
  }

  list(typeName: string, place: TaskPlace, after: string | null, limit: number, bytes = MAX_RESPONSE_BYTES): TaskList {
    const type = this.#names.find(KIND.type, typeName)
    if (type === undefined) return { rows: [], next: null }
    const [first, second] = after === null ? BEFORE_ALL : listCursor(after)
    // Numbers of deaths are unique, and cleared tasks have the lowest.
    const from = place === 'dead' ? Math.max(first, this.#sequences.deadCutOf(type)) : first
    const behind = place === 'dead' ? Number.MAX_SAFE_INTEGER : second
    // One more than fits is read, which shows that the bytes ended the page.
    let read = 0
    const sizeOf = (row: Row): number => {
      read += 1
      return charsOf(row)
    }
    const found = takeWithin(this.#sql[place].iterate(type, from, behind, limit), sizeOf, bytes)
    const last = found.at(-1)
    const isLast = last === undefined || (read === found.length && read < limit)
    return {
      rows: found.map(({ first: _first, second: _second, ...row }) => row),
      next: isLast ? null : `${last.first}:${last.second}`,
    }
  }
}

const charsOf = ({ id, error, body }: ListedTask): number => id.length + (error?.length ?? 0) + body.length
