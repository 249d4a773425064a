/**
 * @module storage/sqlite/engine-dead
 * DeadTasks lists, replays and removes dead tasks. Clearing only raises `deadCut`, the number of the last death that
 * was cleared; the idle work removes the rows.
 */
import { MAX_RESPONSE_BYTES } from '../../protocol/index.ts'
import { expiryOf, takeWithin, type DeadPage, type DeadRow, type ReplayCounts } from '../index.ts'
import type { DeadGroupIndex } from './dead-group-index.ts'
import type { Database } from './driver.ts'
import type { TokenSequences } from './token-sequences.ts'
import { KIND, type Names } from './names.ts'
import { pruneCost } from './prune-cost.ts'
import { PLACE, type Queue, type Queues } from './queues.ts'
import type { ReplayCounters } from './replay-counters.ts'
import { attemptsIn, isCleared, markedColumn, type TaskDeps, type TaskRow, type TaskRows } from './task-rows.ts'
import type { Transaction } from './transaction.ts'

/** The tier of replayed tasks, whatever their priority. */
const NORMAL_TIER = 1

type Replayable = Pick<TaskRow, 'pk' | 'ttl' | 'grp' | 'attempts'>
interface ReplayOptions {
  readonly dueAtMs?: number | undefined
  readonly replay?: string | undefined
}

/** A dead task as it is listed, with the number of its death. */
export interface ListedDeath extends Omit<DeadRow, 'attempts'> {
  /** Number of its death. */
  readonly ord: number
  /** Failed attempts as JSON. */
  readonly attempts: string | null
}

function statementsOf(db: Database) {
  return {
    list: db.prepare<[number, number, number], ListedDeath>(
      `SELECT ord, id, attempt, body, lease_max AS maxAttempts, error AS lastError, due AS diedAtMs,
          attempts FROM task JOIN body ON body.pk = task.pk
        WHERE type = ? AND place = 3 AND ord > ? ORDER BY ord LIMIT ?`,
    ),
    oldest: db.prepare<[number, number, number, number], Replayable>(
      `SELECT pk, ttl, grp, attempts FROM task
        WHERE type = ? AND place = 3 AND ord > ? AND ord <= ? ORDER BY ord LIMIT ?`,
    ),
    cleared: db.prepare<[number, number, number], { pk: number; bytes: number }>(
      `SELECT pk, octet_length(body) AS bytes FROM task JOIN body USING(pk)
        WHERE type = ? AND place = 3 AND ord <= ? ORDER BY ord LIMIT ?`,
    ),
    replay: db.prepare<[number, number, number | null, number]>(
      `UPDATE task SET place = 0, tier = ?, ord = ?, ttl_at = ?, due = NULL, attempt = 0, lost = 0, error = NULL
        WHERE pk = ?`,
    ),
    mark: db.prepare<[string | null, number]>('UPDATE task SET attempts = ? WHERE pk = ?'),
    schedule: db.prepare<[number, number, number | null, number]>(
      `UPDATE task SET place = 2, tier = own_tier, ord = ?, due = ?, ttl_at = ?, attempt = 0, lost = 0, error = NULL
        WHERE pk = ?`,
    ),
  }
}

export class DeadTasks {
  readonly #txn: Transaction
  readonly #names: Names
  readonly #sequences: TokenSequences
  readonly #queues: Queues
  readonly #rows: TaskRows
  readonly #deadGroups: DeadGroupIndex
  readonly #replays: ReplayCounters
  readonly #sql: ReturnType<typeof statementsOf>

  constructor({ db, txn, names, sequences, queues, rows, deadGroups, replays }: TaskDeps) {
    this.#replays = replays
    this.#deadGroups = deadGroups
    this.#txn = txn
    this.#names = names
    this.#sequences = sequences
    this.#queues = queues
    this.#rows = rows
    this.#sql = statementsOf(db)
  }

  list(typeName: string, n: number, bytes = MAX_RESPONSE_BYTES, after = 0): DeadPage {
    const type = this.#names.find(KIND.type, typeName)
    const queue = type === undefined ? undefined : this.#queues.find(type)
    if (queue === undefined) return { length: 0, items: [] }
    const from = Math.max(this.#sequences.deadCutOf(queue.type), after)
    // One more than fits is read, which shows that the bytes ended the page.
    let read = 0
    const sizeOf = (row: ListedDeath): number => {
      read += 1
      return charsOfDeath(row)
    }
    const found = takeWithin(this.#sql.list.iterate(queue.type, from, n), sizeOf, bytes)
    const isCutShort = read > found.length
    const last = found.at(-1)
    return {
      length: queue.dead,
      items: found.map(({ ord: _ord, attempts, ...row }) => ({ ...row, ...attemptsIn(attempts) })),
      ...(isCutShort && last !== undefined && { next: last.ord }),
    }
  }

  replay(typeName: string, n: number, newestDeath = Number.MAX_SAFE_INTEGER, replay?: string): number {
    const type = this.#names.find(KIND.type, typeName)
    if (type === undefined) return 0
    const queue = this.#queues.change(type)
    const found = this.#sql.oldest.all(type, this.#sequences.deadCutOf(type), newestDeath, n)
    this.openReplay(type, replay)
    for (const task of found) this.replayOne(queue, task, { replay })
    return found.length
  }

  newestDeath(typeName: string): number {
    const type = this.#names.find(KIND.type, typeName)
    const queue = type === undefined ? undefined : this.#queues.find(type)
    return queue === undefined ? 0 : queue.death - 1
  }

  clear(typeName: string): number {
    const type = this.#names.find(KIND.type, typeName)
    if (type === undefined) return 0
    const queue = this.#queues.change(type)
    const count = queue.dead
    this.#sequences.change(type).deadCut = queue.death - 1
    queue.dead = 0
    this.#deadGroups.clear(type)
    return count
  }

  applyToDead(
    typeName: string,
    action: 'replay' | 'remove',
    ids: readonly string[],
    replay?: string,
  ): readonly ('replayed' | 'removed' | 'not_dead')[] {
    const type = this.#names.find(KIND.type, typeName)
    if (type === undefined) return ids.map(() => 'not_dead')
    const queue = this.#queues.change(type)
    this.openReplay(type, replay)
    return ids.map((id) => {
      const row = this.find(type, id)
      if (row === undefined) return 'not_dead'
      if (action === 'replay') this.replayOne(queue, row, { replay })
      else this.removeOne(queue, row)
      return action === 'replay' ? 'replayed' : 'removed'
    })
  }

  /** Removes cleared tasks that cost about `limit` rows. @returns what they cost. */
  prune(limit: number): number {
    let left = limit
    for (const type of this.#names.all(KIND.type)) if (left > 0) left -= this.#prune(type, left)
    return limit - left
  }

  #prune(type: number, limit: number): number {
    const deadCut = this.#sequences.deadCutOf(type)
    if (deadCut === 0) return 0
    let cost = 0
    for (const { pk, bytes } of this.#sql.cleared.all(type, deadCut, limit)) {
      if (cost >= limit) break
      this.#rows.remove(pk)
      cost += pruneCost(bytes)
    }
    return cost
  }

  find(type: number, id: string): TaskRow | undefined {
    const row = this.#rows.find(type, id)
    const isDead = row?.place === PLACE.dead && !isCleared(row, this.#sequences.deadCutOf(type))
    return isDead ? row : undefined
  }

  replayCounts(typeName: string, replays: readonly string[]): readonly (ReplayCounts | null)[] {
    const type = this.#names.find(KIND.type, typeName)
    return replays.map((replay) => (type === undefined ? null : this.#replays.get(type, replay)))
  }

  forgetReplays(typeName: string, replays: readonly string[]): void {
    const type = this.#names.find(KIND.type, typeName)
    if (type !== undefined) for (const replay of replays) this.#replays.forget(type, replay)
  }

  /** Call it before the tasks of a replay are replayed. */
  openReplay(type: number, replay: string | undefined): void {
    if (replay !== undefined) this.#replays.open(type, replay)
  }

  /** Makes a dead task pending; scheduled, if `dueAtMs` is given. @param options `replay`: the id of the replay. */
  replayOne(queue: Queue, { pk, ttl, grp, attempts }: Replayable, { dueAtMs, replay }: ReplayOptions = {}): void {
    this.#deadGroups.remove(queue.type, pk)
    const marked = markedColumn(attempts, replay)
    if (marked !== attempts) this.#sql.mark.run(marked, pk)
    if (dueAtMs !== undefined) {
      this.#sql.schedule.run(queue.back++, dueAtMs, expiryOf(ttl, dueAtMs), pk)
      queue.dead -= 1
      queue.scheduled += 1
      return
    }
    this.#sql.replay.run(NORMAL_TIER, queue.back++, expiryOf(ttl, this.#txn.nowMs), pk)
    queue.dead -= 1
    queue.pending[NORMAL_TIER] += 1
    queue.groups?.add(grp)
  }

  removeOne(queue: Queue, { pk }: Pick<TaskRow, 'pk'>): void {
    this.#deadGroups.remove(queue.type, pk)
    this.#rows.remove(pk)
    queue.dead -= 1
  }
}

export function charsOfDeath({ id, body, lastError, attempts }: ListedDeath): number {
  return id.length + body.length + (lastError?.length ?? 0) + (attempts?.length ?? 0)
}
