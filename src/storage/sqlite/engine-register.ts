/**
 * @module storage/sqlite/engine-register
 * WorkerRegistrations creates, updates and removes the records of workers. It counts them in memory, so the bound of a
 * type costs no query.
 */
import type { ReportedState } from '../../protocol/index.ts'
import type { Ref, RegisterResult, Registration } from '../index.ts'
import { drainedText, drainRequestOf } from './departures.ts'
import type { Database } from './driver.ts'
import type { EngineDeps } from './engine-deps.ts'
import type { SqliteEnrolments } from './engine-enrolments.ts'
import { KIND, type Names } from './names.ts'
import { Sizes } from './sizes.ts'
import type { Transaction } from './transaction.ts'
import { drainOf, NEXT_PROCESS, type FoundWorker, type WorkerRecord, type WorkerRows } from './worker-rows.ts'

const MAX_WORKERS = 50_000
const MAX_FORGOTTEN = 1_000_000

function statementsOf(db: Database) {
  return {
    insert: db.prepare<[number, string, string, string, number, string, string | null, number, number, string | null]>(
      `INSERT INTO worker(type, id, instance, conn, registered, hardware, labels, since, seen,
          managed_by, state, frames)
        VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'IDLE', 0)`,
    ),
    insertConfig: db
      .prepare<[number, string, string, string | null, string | null, number | null], number>(
        `INSERT INTO cfg(type, id, gen, config, revision, variant, variant_gen) VALUES(?, ?, 0, ?, ?, ?, ?)
        ON CONFLICT(type, id) DO UPDATE SET gen = gen + 1, config = excluded.config, changed = NULL, actor = NULL,
          revision = excluded.revision, variant = excluded.variant, variant_gen = gen + 1 + excluded.variant_gen
        RETURNING gen`,
      )
      .pluck(),
    renew: db.prepare<
      [
        string,
        string,
        string,
        string | null,
        ReportedState,
        number,
        number,
        string | null,
        string | null,
        number,
        string,
      ]
    >(
      `UPDATE worker SET instance = ?, conn = ?, hardware = ?, labels = ?, state = ?, since = ?, seen = ?, drain = ?,
          drained = ?, departure = NULL
        WHERE type = ? AND id = ?`,
    ),
    remove: [
      'DELETE FROM worker WHERE type = ? AND id = ?',
      'DELETE FROM cfg_history WHERE type = ? AND id = ?',
      'DELETE FROM stat WHERE type = ? AND id = ?',
      `UPDATE cfg SET config = NULL, changed = NULL, actor = NULL, revision = NULL, variant = NULL, variant_gen = NULL
        WHERE type = ? AND id = ?`,
    ].map((sql) => db.prepare<[number, string]>(sql)),
    removeLowestGen: db.prepare<[number]>(
      `DELETE FROM cfg WHERE (type, id) IN (SELECT type, id FROM cfg WHERE type = ? AND config IS NULL
        ORDER BY gen LIMIT 1)`,
    ),
  }
}

export class WorkerRegistrations {
  readonly #txn: Transaction
  readonly #names: Names
  readonly #rows: WorkerRows
  readonly #enrolments: SqliteEnrolments
  readonly #workers: Sizes
  /** Those of forgotten workers included. */
  readonly #generations: Sizes
  readonly #maxForgotten: number
  readonly #sql: ReturnType<typeof statementsOf>

  /** @param maxForgotten How many generations of forgotten workers a type keeps (D46). Tests lower it. */
  constructor(
    { db, txn, names }: EngineDeps,
    rows: WorkerRows,
    enrolments: SqliteEnrolments,
    maxForgotten = MAX_FORGOTTEN,
  ) {
    this.#txn = txn
    this.#names = names
    this.#rows = rows
    this.#enrolments = enrolments
    this.#workers = new Sizes(db, txn, 'SELECT count(*) FROM worker WHERE type = ?')
    this.#generations = new Sizes(db, txn, 'SELECT count(*) FROM cfg WHERE type = ?')
    this.#maxForgotten = maxForgotten
    this.#sql = statementsOf(db)
  }

  register(item: Registration): RegisterResult {
    const found = this.#rows.find(item)
    return found === undefined ? this.#create(item) : this.#renew(found, item)
  }

  /** @returns false if the worker has no record. */
  forget(ref: Ref): boolean {
    const found = this.#rows.find(ref)
    if (found === undefined) return false
    const { type } = found
    const forgotten = this.#generations.of(type) - this.#workers.of(type)
    this.#workers.add(type, -1)
    for (const statement of this.#sql.remove) statement.run(type, ref.id)
    if (forgotten < this.#maxForgotten) return true
    this.#sql.removeLowestGen.run(type)
    this.#generations.add(type, -1)
    return true
  }

  #create(item: Registration): RegisterResult {
    const type = this.#names.number(KIND.type, item.type)
    if (this.#workers.of(type) >= MAX_WORKERS) return { kind: 'full' }
    const { rules = '', enrolment } = item
    if (rules !== this.#enrolments.versionOf(type)) return { kind: 'rules_changed' }
    const { nowMs } = this.#txn
    this.#generations.of(type) // The first use counts the rows, so it comes before the insert.
    this.#workers.add(type, 1)
    const { id, instance, conn, hardware, labels = null } = item
    const { revision = null, variant = null, managedBy = null } = enrolment ?? {}
    this.#sql.insert.run(type, id, instance, conn, nowMs, hardware, labels, nowMs, nowMs, managedBy)
    const labelledFor = enrolment === undefined ? null : 0
    const gen = this.#sql.insertConfig.get(type, item.id, item.defaults, revision, variant, labelledFor) ?? 0
    if (revision !== null) this.#enrolments.use(type, revision)
    const isNew = gen === 0 // A kept generation is raised to 1 or more.
    if (isNew) this.#generations.add(type, 1)
    return { kind: 'registered', previous: null, drain: false, replaced: null, gen }
  }

  #renew({ type, worker }: FoundWorker, item: Registration): RegisterResult {
    const { nowMs } = this.#txn
    const isDraining = worker.drain !== null
    const isDrainKept = isDraining && appliesTo(worker.drain, item)
    const state = isDraining && !isDrainKept ? 'IDLE' : worker.state
    const drain = isDrainKept ? drainOf(item) : null
    const request = isDrainKept ? drainRequestOf(worker.drained, worker.since) : null
    const drained = request === null ? null : drainedText(nowMs, request)
    const { id, instance, conn, hardware, labels = null } = item
    this.#sql.renew.run(instance, conn, hardware, labels, state, nowMs, nowMs, drain, drained, type, id)
    return {
      kind: 'registered',
      previous: recordedStatusOf(worker),
      drain: isDrainKept,
      replaced: worker.conn === item.conn ? null : worker.conn, // A register may be repeated.
      gen: worker.gen,
      ...(instance !== '' && instance !== worker.instance && { isRestart: true }),
    }
  }
}

/** Whether the process that registers now is the one to be drained. */
function appliesTo(drain: string, item: Registration): boolean {
  return drain === NEXT_PROCESS || drain === drainOf(item)
}

function recordedStatusOf({ drain, state, lastError, appliedGen }: WorkerRecord) {
  return { state: drain === null ? state : 'DRAINING', lastError, appliedGen } as const
}
