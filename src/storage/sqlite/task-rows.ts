/**
 * @module storage/sqlite/task-rows
 * TaskRows finds, moves and removes the rows of tasks. The bodies of tasks that were submitted together lie side by
 * side, so a batch of them is removed by ranges instead of one by one.
 */
import {
  replayOf,
  withAttempt,
  withoutReplay,
  withReplay,
  type FailedAttempt,
  type RunHistory,
  type StoredAttempt,
  type TaskHistory,
  type Tier,
} from '../index.ts'
import type { DeadGroupIndex } from './dead-group-index.ts'
import type { Database, Statement } from './driver.ts'
import type { EngineDeps } from './engine-deps.ts'
import type { RetainedOutcomes } from './retained-outcomes.ts'
import type { ReplayCounters } from './replay-counters.ts'
import { PLACE, type PlaceNumber, type Queue, type Queues } from './queues.ts'

/** What the parts of the task queues share. */
export interface TaskDeps extends EngineDeps {
  readonly outcomes: RetainedOutcomes
  readonly queues: Queues
  readonly rows: TaskRows
  readonly deadGroups: DeadGroupIndex
  readonly replays: ReplayCounters
}

export interface TaskRow {
  readonly pk: number
  readonly place: PlaceNumber
  /** In which it waits, if it is pending. */
  readonly tier: Tier
  /** Of its priority; a replayed task may wait in another. */
  readonly ownTier: Tier
  readonly ord: number
  readonly due: number | null
  readonly ttl: number | null
  readonly attempt: number
  readonly token: number | null
  readonly leaseMax: number
  readonly error: string | null
  /** Of the lease; `null` if the task is not in flight. */
  readonly worker: string | null
  /** Failed attempts as JSON. */
  readonly attempts: string | null
  readonly progress: string | null
  readonly progressAt: number | null
  /** The name of its group; '' or `null` for the group `null`. */
  readonly grp: string | null
}

/** What is left of a task that was removed because it is done. */
export interface TakenTask {
  readonly pk: number
  readonly attempt: number
  readonly worker: string
  /** How long its outcome is retained; `null`: not at all. */
  readonly retain: number | null
  /** Failed attempts as JSON. */
  readonly attempts: string | null
  readonly grp: string | null
}

/** The failed attempts in a column. */
export function attemptsIn(column: string | null): Pick<RunHistory, 'attempts'> {
  return column === null ? {} : { attempts: withoutReplay(storedIn(column)) }
}

const storedIn = (column: string | null): readonly StoredAttempt[] =>
  column === null ? [] : (JSON.parse(column) as readonly StoredAttempt[])

/** A quote in a text is escaped, so only the name of the field is found. */
const isMarked = (column: string | null): column is string => column?.includes('"replay":') === true

/** The id of the replay that the task is part of; undefined if it is part of none. */
export const replayIn = (column: string | null): string | undefined =>
  isMarked(column) ? replayOf(storedIn(column)) : undefined

/** The column with the mark of a replay instead of another one; without a mark if `replay` is undefined. */
export function markedColumn(column: string | null, replay: string | undefined): string | null {
  if (column === null || (replay === undefined && !isMarked(column))) return column
  return JSON.stringify(withReplay(storedIn(column), replay))
}

/** What the row says about the runs of the task. */
export function historyIn({ attempts, progress, progressAt }: TaskRow): TaskHistory {
  return { ...attemptsIn(attempts), ...(progress !== null && { progress: { text: progress, atMs: progressAt ?? 0 } }) }
}

/** The column with one more attempt. */
export function columnWith(column: string | null, newest: FailedAttempt): string {
  return JSON.stringify(withAttempt(storedIn(column), newest))
}

/** Whether the row is a dead task that was cleared. It counts as absent until the idle work has removed it. */
export function isCleared({ place, ord }: Pick<TaskRow, 'place' | 'ord'>, deadCut: number): boolean {
  return place === PLACE.dead && ord <= deadCut
}

export class TaskRows {
  readonly #find: Statement<[number, string], TaskRow>
  readonly #take: Statement<[number, string, number], TakenTask>
  readonly #front: Statement<[number, number]>
  readonly #remove: Statement<[number]>
  readonly #removeBodies: Statement<[number, number]>

  constructor(db: Database) {
    this.#find = db.prepare(
      `SELECT pk, place, tier, own_tier AS ownTier, ord, due, ttl, attempt, token, lease_max AS leaseMax, error,
          worker, attempts, progress, progress_at AS progressAt, grp FROM task WHERE type = ? AND id = ?`,
    )
    this.#take = db.prepare(
      `DELETE FROM task WHERE type = ? AND id = ? AND place = 1 AND token = ?
        RETURNING pk, attempt, worker, retain, attempts, grp`,
    )
    this.#front = db.prepare(
      'UPDATE task SET place = 0, tier = own_tier, ord = ?, due = NULL, token = NULL, worker = NULL WHERE pk = ?',
    )
    this.#remove = db.prepare('DELETE FROM task WHERE pk = ?')
    this.#removeBodies = db.prepare('DELETE FROM body WHERE pk BETWEEN ? AND ?')
  }

  find(type: number, id: string): TaskRow | undefined {
    return this.#find.get(type, id)
  }

  /** Removes the task of this lease, and returns what is left of it. The caller removes its body. */
  take(type: number, id: string, token: number): TakenTask | undefined {
    return this.#take.get(type, id, token)
  }

  /** Makes a task in flight pending, at the front of its own tier. */
  toFront(queue: Queue, { pk, ownTier, grp }: Pick<TaskRow, 'pk' | 'ownTier' | 'grp'>): void {
    this.#front.run(queue.front, pk)
    queue.front -= 1
    queue.pending[ownTier] += 1
    queue.groups?.add(grp)
  }

  remove(pk: number): void {
    this.#remove.run(pk)
    this.#removeBodies.run(pk, pk)
  }

  removeBodies(pks: readonly number[]): void {
    const sorted = pks.toSorted((a, b) => a - b)
    for (let from = 0, to = 0; from < sorted.length; from = to) {
      const first = sorted[from] ?? 0
      to = from + 1
      while (sorted[to] === first + to - from) to += 1
      this.#removeBodies.run(first, first + to - from - 1)
    }
  }
}
