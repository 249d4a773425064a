/**
 * @module storage/sqlite/retained-outcomes
 * RetainedOutcomes keeps the outcomes of retained tasks (D110). Their number and bytes are counted in memory
 * (queues.ts). Beyond the bounds, the outcome nearest to its expiry is evicted first.
 */
import { MAX_OUTCOME_BYTES } from '../../protocol/index.ts'
import { outcomeBytes, retainedUntil, type EndOfTask, type Outcome, type RunResult } from '../index.ts'
import type { Database } from './driver.ts'
import type { Queue } from './queues.ts'
import { attemptsIn } from './task-rows.ts'
import type { Transaction } from './transaction.ts'

/** A task that ends, and for how long its outcome is retained. */
export interface EndedTask {
  readonly id: string
  readonly attempt: number
  readonly retainMs: number
  /** Failed attempts as JSON. */
  readonly attempts: string | null
}

interface OutcomeRow {
  readonly kind: Outcome['kind']
  readonly finished: number
  readonly until: number
  readonly attempt: number
  /** Of a cancelled task, who cancelled it. */
  readonly worker: string | null
  readonly result: string | null
  readonly attempts: string | null
}
interface Sized {
  readonly pk: number
  readonly bytes: number
}
type InsertOutcome = [
  type: number,
  id: string,
  kind: string,
  finished: number,
  until: number,
  attempt: number,
  worker: string | null,
  result: string | null,
  attempts: string | null,
  bytes: number,
]

function statementsOf(db: Database) {
  return {
    find: db.prepare<[number, string, number], OutcomeRow>(
      `SELECT kind, finished, until, attempt, worker, result, attempts FROM outcome
        WHERE type = ? AND id = ? AND until > ?`,
    ),
    isKnown: db
      .prepare<[number, string, number], 1>('SELECT 1 FROM outcome WHERE type = ? AND id = ? AND until > ?')
      .pluck(),
    sized: db.prepare<[number, string], Sized>('SELECT pk, bytes FROM outcome WHERE type = ? AND id = ?'),
    insert: db.prepare<InsertOutcome>(
      `INSERT INTO outcome(type, id, kind, finished, until, attempt, worker, result, attempts, bytes)
        VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    earliest: db.prepare<[number, number, number], Sized>(
      'SELECT pk, bytes FROM outcome WHERE type = ? AND until <= ? ORDER BY until LIMIT ?',
    ),
    remove: db.prepare<[number]>('DELETE FROM outcome WHERE pk = ?'),
  }
}

export class RetainedOutcomes {
  readonly #txn: Transaction
  readonly #sql: ReturnType<typeof statementsOf>

  constructor(db: Database, txn: Transaction) {
    this.#txn = txn
    this.#sql = statementsOf(db)
  }

  /** The outcome of this task, if it has not expired. */
  find({ type, outcomes }: Readonly<Queue>, id: string): Outcome | null {
    const row = outcomes === 0 ? undefined : this.#sql.find.get(type, id, this.#txn.nowMs)
    if (row === undefined) return null
    const { kind, finished, until, attempt, worker, result } = row
    return {
      kind,
      finishedAtMs: finished,
      retainedUntilMs: until,
      attempt,
      worker: kind === 'cancelled' ? null : worker,
      ...(kind === 'cancelled' && { actor: worker ?? '' }),
      result: resultOf(result),
      ...attemptsIn(row.attempts),
    }
  }

  /** Whether a task with this id left an outcome that has not expired. */
  isKnown({ type, outcomes }: Readonly<Queue>, id: string): boolean {
    return outcomes > 0 && this.#sql.isKnown.get(type, id, this.#txn.nowMs) !== undefined
  }

  /** Keeps the outcome of a task that ends now. */
  keep(queue: Queue, { id, attempt, retainMs, attempts }: EndedTask, end: EndOfTask, maxOutcomes: number): void {
    if (maxOutcomes === 0) return
    const { nowMs } = this.#txn
    const bytes = outcomeBytes(id, end) + Buffer.byteLength(attempts ?? '')
    const old = this.#sql.sized.get(queue.type, id) // Expired, or of a task that an earlier program let in.
    if (old !== undefined) this.#remove(queue, old)
    const untilMs = retainedUntil(retainMs, nowMs) ?? nowMs
    const { kind, worker, actor = null, result } = end
    const by = worker ?? actor
    this.#sql.insert.run(queue.type, id, kind, nowMs, untilMs, attempt, by, textOf(result), attempts, bytes)
    queue.outcomes += 1
    queue.outcomeBytes += bytes
    while (queue.outcomes > maxOutcomes || queue.outcomeBytes > MAX_OUTCOME_BYTES)
      if (this.#forget(queue, 1, Number.MAX_SAFE_INTEGER) === 0) break
  }

  /** Removes expired outcomes, at most `limit`, the earliest first. */
  forgetExpired(queue: Queue, limit: number): void {
    if (queue.outcomes > 0) this.#forget(queue, limit, this.#txn.nowMs)
  }

  isAnyExpired({ type, outcomes }: Readonly<Queue>): boolean {
    return outcomes > 0 && this.#sql.earliest.get(type, this.#txn.nowMs, 1) !== undefined
  }

  #forget(queue: Queue, limit: number, untilMs: number): number {
    const found = this.#sql.earliest.all(queue.type, untilMs, limit)
    for (const each of found) this.#remove(queue, each)
    return found.length
  }

  #remove(queue: Queue, { pk, bytes }: Sized): void {
    this.#sql.remove.run(pk)
    queue.outcomes -= 1
    queue.outcomeBytes -= bytes
  }
}

function textOf(result: RunResult | null): string | null {
  if (result === null) return null
  return result.kind === 'json' ? result.text : ''
}

/** A result is JSON, so it is never empty. */
function resultOf(text: string | null): RunResult | null {
  if (text === null) return null
  return text === '' ? { kind: 'too_large' } : { kind: 'json', text }
}
