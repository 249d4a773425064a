/** @module storage/sqlite/engine-submit  TaskSubmission queues tasks, unless their id or idempotency key is known. */
import {
  dueOf,
  expiryOf,
  knownResult,
  QUEUED,
  QUEUE_FULL,
  storedIdOf,
  type NewTask,
  type SubmitItemResult,
  type Sync,
  type Tasks,
  type UniqueKey,
} from '../index.ts'
import type { Database } from './driver.ts'
import { DeclaredNeed } from './declared-need.ts'
import type { TaskCancellation } from './engine-cancel.ts'
import type { TokenSequence, TokenSequences } from './token-sequences.ts'
import { KIND, type Names } from './names.ts'
import { lengthOf, type Queue, type Queues } from './queues.ts'
import type { RetainedOutcomes } from './retained-outcomes.ts'
import { isCleared, type TaskDeps, type TaskRows } from './task-rows.ts'
import type { Transaction } from './transaction.ts'
import { UniqueKeys } from './unique-keys.ts'

type InsertTask = [
  pk: number,
  type: number,
  id: string,
  tier: number,
  ownTier: number,
  ord: number,
  submitted: number,
  ttlAt: number | null,
  ttl: number | null,
  ownMax: number | null,
  retain: number | null,
  grp: string | null,
]
type InsertDelayed = [due: number, ...InsertTask]

function statementsOf(db: Database) {
  return {
    insert: db.prepare<InsertTask>(
      `INSERT INTO task(pk, type, id, place, tier, own_tier, ord, submitted, ttl_at, ttl, own_max, retain, grp,
        attempt, lost) VALUES(?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0) ON CONFLICT(type, id) DO NOTHING`,
    ),
    insertDelayed: db.prepare<InsertDelayed>(
      `INSERT INTO task(due, pk, type, id, place, tier, own_tier, ord, submitted, ttl_at, ttl, own_max, retain,
        grp, attempt, lost) VALUES(?, ?, ?, ?, 2, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0) ON CONFLICT(type, id) DO NOTHING`,
    ),
    insertBody: db.prepare<[number, string]>('INSERT INTO body(pk, body) VALUES(?, ?)'),
    findKey: db.prepare<[number, string], { id: string; expires: number }>(
      'SELECT id, expires FROM idem WHERE type = ? AND key = ?',
    ),
    insertKey: db.prepare<[number, string, string, number]>(
      `INSERT INTO idem(type, key, id, expires) VALUES(?, ?, ?, ?) ON CONFLICT(type, key)
        DO UPDATE SET id = excluded.id, expires = excluded.expires`,
    ),
  }
}

export class TaskSubmission implements Pick<Sync<Tasks>, 'submit'> {
  readonly #txn: Transaction
  readonly #names: Names
  readonly #sequences: TokenSequences
  readonly #queues: Queues
  readonly #rows: TaskRows
  readonly #outcomes: RetainedOutcomes
  readonly #unique: UniqueKeys
  readonly #groupNeed: DeclaredNeed
  readonly #cancellation: TaskCancellation
  readonly #sql: ReturnType<typeof statementsOf>

  constructor({ db, txn, names, outcomes, sequences, queues, rows }: TaskDeps, cancellation: TaskCancellation) {
    this.#unique = new UniqueKeys(db, txn)
    this.#groupNeed = new DeclaredNeed(db, txn, 'groups')
    this.#cancellation = cancellation
    this.#outcomes = outcomes
    this.#txn = txn
    this.#names = names
    this.#sequences = sequences
    this.#queues = queues
    this.#rows = rows
    this.#sql = statementsOf(db)
  }

  submit(
    typeName: string,
    idempotencyTtlMs: number,
    tasks: readonly NewTask[],
    maxLength = Infinity,
  ): readonly SubmitItemResult[] {
    const type = this.#names.number(KIND.type, typeName)
    const queue = this.#queues.change(type)
    const fence = this.#sequences.change(type)
    return tasks.map((task) => {
      const isFull = lengthOf(queue) >= maxLength
      return this.#submit(task, queue, fence, isFull, this.#txn.nowMs + (task.keyTtlMs ?? idempotencyTtlMs))
    })
  }

  #submit(
    task: NewTask,
    queue: Queue,
    fence: TokenSequence,
    isFull: boolean,
    keyExpiresAtMs: number,
  ): SubmitItemResult {
    const { type } = queue
    const known = task.key === null ? undefined : this.#sql.findKey.get(type, task.key)
    if (known !== undefined && known.expires > this.#txn.nowMs) return { kind: 'duplicate', duplicateOf: known.id }
    if (task.unique !== undefined) {
      const result = this.#submitUnique(task, task.unique, queue, fence, isFull)
      if (task.key !== null && result.kind !== 'queue_full')
        this.#sql.insertKey.run(type, task.key, storedIdOf(result, task), keyExpiresAtMs)
      return result
    }
    const isFinished = this.#outcomes.isKnown(queue, task.id)
    if (isFull && !isFinished && !this.#exists(type, task.id, fence.deadCut)) return QUEUE_FULL
    const isNew = !isFull && !isFinished && this.#add(queue, task, fence.deadCut)
    // The key is recorded also if the id is a duplicate (D80).
    if (task.key !== null) this.#sql.insertKey.run(type, task.key, task.id, keyExpiresAtMs)
    if (isNew) fence.submitted += 1
    return isNew ? QUEUED : knownResult(task)
  }

  #submitUnique(
    task: NewTask,
    unique: UniqueKey,
    queue: Queue,
    fence: TokenSequence,
    isFull: boolean,
  ): SubmitItemResult {
    const { type } = queue
    const isFinished = this.#outcomes.isKnown(queue, task.id)
    if (isFinished || this.#exists(type, task.id, fence.deadCut)) return knownResult(task)
    const conflict = this.#unique.conflict(type, unique)
    if (conflict?.isReplaced === false) return { kind: 'duplicate', duplicateOf: conflict.id }
    if (conflict === null && isFull) return QUEUE_FULL
    if (conflict !== null) this.#cancellation.cancelOne(queue, conflict.id)
    this.#add(queue, task, fence.deadCut)
    this.#unique.record(type, task.id, unique)
    fence.submitted += 1
    return conflict === null ? QUEUED : { kind: 'queued', replaced: conflict.id }
  }

  /** @returns false if a task with this id is stored. A cleared one is removed first. */
  #add(queue: Queue, task: NewTask, deadCut: number): boolean {
    if (this.#insert(queue, task)) return true
    const row = this.#rows.find(queue.type, task.id)
    if (row === undefined || !isCleared(row, deadCut)) return false
    this.#rows.remove(row.pk)
    return this.#insert(queue, task)
  }

  /** @returns false if there is a row with this id. */
  #insert(queue: Queue, task: NewTask): boolean {
    const { id, tier, submittedAtMs, ttlMs, maxAttempts, retainMs = null, body } = task
    const pk = this.#queues.nextPk()
    const dueAtMs = dueOf(task, this.#txn.nowMs)
    const ttlAt = expiryOf(ttlMs, dueAtMs)
    const isDelayed = dueAtMs > this.#txn.nowMs
    const grp = this.#groupOf(queue, task)
    const facts = [submittedAtMs, ttlAt, ttlMs, maxAttempts, retainMs, grp] as const
    const row: InsertTask = [pk, queue.type, id, tier, tier, queue.back, ...facts]
    const { changes } = isDelayed ? this.#sql.insertDelayed.run(dueAtMs, ...row) : this.#sql.insert.run(...row)
    if (changes === 0) return false
    this.#sql.insertBody.run(pk, body)
    queue.back += 1
    if (isDelayed) {
      queue.scheduled += 1
      return true
    }
    queue.pending[tier] += 1
    queue.groups?.add(grp)
    return true
  }

  /** The column of the group. */
  #groupOf(queue: Queue, { group }: NewTask): string | null {
    if (group !== undefined) this.#groupNeed.declare()
    return group ?? (queue.groups === null ? null : '')
  }

  #exists(type: number, id: string, deadCut: number): boolean {
    const row = this.#rows.find(type, id)
    return row !== undefined && !isCleared(row, deadCut)
  }
}
