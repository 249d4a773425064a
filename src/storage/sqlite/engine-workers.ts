/**
 * @module storage/sqlite/engine-workers
 * SqliteWorkers keeps the records of workers. engine-register.ts creates and removes them, engine-reports.ts records
 * what workers report; worker-rows.ts describes the drain of a record.
 */
import { MAX_RESPONSE_BYTES, STATS_FRAMES } from '../../protocol/index.ts'
import {
  takeWithin,
  type DrainResult,
  type DrainTarget,
  type EndedConn,
  type Ref,
  type RegisterResult,
  type Registration,
  type ReportResult,
  type Sync,
  type WorkerReport,
  type WorkerRow,
  type Workers,
} from '../index.ts'
import { departureOf, departureText, drainedText, drainRequestOf } from './departures.ts'
import type { Database } from './driver.ts'
import type { EngineDeps } from './engine-deps.ts'
import type { SqliteEnrolments } from './engine-enrolments.ts'
import { WorkerRegistrations } from './engine-register.ts'
import { WorkerReports } from './engine-reports.ts'
import { LABEL_COLUMNS, storedLabel, type LabelColumns } from './label-columns.ts'
import type { Masters } from './masters.ts'
import { KIND, type Names } from './names.ts'
import type { Transaction } from './transaction.ts'
import { drainOf, NEXT_PROCESS, type WorkerRecord, type WorkerRows } from './worker-rows.ts'

type UnstoredField =
  'type' | 'connected' | 'ended' | 'draining' | 'drainRequest' | 'departure' | 'config' | 'configRevision'

interface StoredWorker extends Omit<WorkerRow, UnstoredField>, LabelColumns {
  readonly drain: string | null
  /** See departures.ts. */
  readonly drained: string | null
  readonly departure: string | null
  readonly ended: 0 | 1
  readonly gen: number
  readonly config: string
  readonly changedAtMs: number | null
  readonly actor: string | null
}

const SELECT_WORKER = `SELECT worker.id, conn, registered AS registeredAtMs, hardware, labels, state,
  since AS stateSinceMs, seen AS lastSeenAtMs, (conn IS NULL AND ended IS seen) AS ended, error AS lastError, drain,
    drained, departure,
    managed_by AS managedBy,
    applied_gen AS appliedGen, gen, config, changed AS changedAtMs, actor, ${LABEL_COLUMNS},
    coalesce(stats, frame) AS stats
  FROM worker JOIN cfg USING(type, id)
  LEFT JOIN stat ON stat.type = worker.type AND stat.id = worker.id AND slot = (frames - 1) % ${STATS_FRAMES}`

function statementsOf(db: Database) {
  return {
    one: db.prepare<[number, string], StoredWorker>(`${SELECT_WORKER} WHERE worker.type = ? AND worker.id = ?`),
    page: db.prepare<[number, string, number], StoredWorker>(
      `${SELECT_WORKER} WHERE worker.type = ? AND worker.id > ? ORDER BY worker.id LIMIT ?`,
    ),
    disconnect: db.prepare<[number, 0 | 1, string | null, string | null, number, string]>(
      `UPDATE worker SET conn = NULL, since = ?, ended = iif(?, seen, NULL), drained = ?, departure = ?
        WHERE type = ? AND id = ?`,
    ),
    setDrain: db.prepare<[string, string | null, number, number, string]>(
      'UPDATE worker SET drain = ?, drained = ?, since = ? WHERE type = ? AND id = ?',
    ),
    setManager: db.prepare<[string | null, number, string]>(
      'UPDATE worker SET managed_by = ? WHERE type = ? AND id = ?',
    ),
  }
}

interface WorkersDeps {
  readonly rows: WorkerRows
  readonly masters: Masters
  readonly enrolments: SqliteEnrolments
}

export class SqliteWorkers implements Sync<Workers> {
  readonly #txn: Transaction
  readonly #names: Names
  readonly #masters: Masters
  readonly #rows: WorkerRows
  readonly #registrations: WorkerRegistrations
  readonly #reports: WorkerReports
  readonly #sql: ReturnType<typeof statementsOf>

  constructor(deps: EngineDeps, { rows, masters, enrolments }: WorkersDeps) {
    this.#txn = deps.txn
    this.#names = deps.names
    this.#masters = masters
    this.#rows = rows
    this.#registrations = new WorkerRegistrations(deps, rows, enrolments)
    this.#reports = new WorkerReports(deps, rows)
    this.#sql = statementsOf(deps.db)
  }

  register(items: readonly Registration[]): readonly RegisterResult[] {
    return items.map((item) => this.#registrations.register(item))
  }

  beat(items: readonly WorkerReport[]): readonly ReportResult[] {
    return items.map((item) => this.#reports.record(item))
  }

  disconnect(items: readonly EndedConn[]): void {
    for (const item of items) {
      const found = this.#rows.find(item)
      if (found === undefined || found.worker.conn !== item.conn) continue
      const { nowMs: atMs } = this.#txn
      const { drain, drained, seen, since } = found.worker
      const request = drain === null ? null : drainRequestOf(drained, since)
      const departure =
        item.end === undefined
          ? null
          : departureText(seen, { ...item.end, atMs, wasDraining: drain !== null, drain: request })
      this.#sql.disconnect.run(
        atMs,
        item.ended === true ? 1 : 0,
        request && drainedText(atMs, request),
        departure,
        found.type,
        item.id,
      )
    }
  }

  drain(items: readonly DrainTarget[]): readonly DrainResult[] {
    return items.map((item) => {
      const found = this.#rows.find(item)
      if (found === undefined) return { kind: 'not_found' }
      const { type, worker } = found
      const { nowMs: atMs } = this.#txn
      const isNew = worker.drain === null
      const { actor } = item
      const requested = actor === undefined ? null : drainedText(atMs, { atMs, actor })
      const drained = isNew ? requested : worker.drained
      this.#sql.setDrain.run(this.#drainNow(worker), drained, isNew ? atMs : worker.since, type, item.id)
      return { kind: 'draining', conn: worker.conn }
    })
  }

  manage(items: readonly (Ref & { readonly managedBy: string | null })[]): readonly ('ok' | 'not_found')[] {
    return items.map((item) => {
      const found = this.#rows.find(item)
      if (found === undefined) return 'not_found'
      this.#sql.setManager.run(item.managedBy, found.type, item.id)
      return 'ok'
    })
  }

  forget(refs: readonly Ref[]): readonly boolean[] {
    return refs.map((ref) => this.#registrations.forget(ref))
  }

  get(refs: readonly Ref[]): readonly (WorkerRow | null)[] {
    return refs.map((ref) => {
      const type = this.#names.find(KIND.type, ref.type)
      const stored = type === undefined ? undefined : this.#sql.one.get(type, ref.id)
      return stored === undefined ? null : this.#rowOf(ref.type, stored)
    })
  }

  page(typeName: string, after: string | null, limit: number, bytes = MAX_RESPONSE_BYTES): readonly WorkerRow[] {
    const type = this.#names.find(KIND.type, typeName)
    if (type === undefined) return []
    return takeWithin(this.#sql.page.iterate(type, after ?? '', limit), charsOf, bytes).map((stored) =>
      this.#rowOf(typeName, stored),
    )
  }

  /** The drain for the process that is connected, or for the one that registers next if none is (D6, D61). */
  #drainNow({ instance, conn }: WorkerRecord): string {
    const isConnected = conn !== null && this.#masters.isConnected(conn)
    return isConnected ? drainOf({ instance, conn }) : NEXT_PROCESS
  }

  #rowOf(type: string, { drain, gen, config, changedAtMs, actor, ...columns }: StoredWorker): WorkerRow {
    const { revision, variant, variantGen, drained, departure: departed, ...stored } = columns
    const isDraining = drain !== null
    const drainRequest = isDraining ? drainRequestOf(drained, stored.stateSinceMs) : null
    const departure = stored.conn === null ? departureOf(departed, stored.lastSeenAtMs) : null
    return {
      type,
      ...stored,
      connected: this.#masters.isConnected(stored.conn),
      ended: stored.ended === 1,
      state: isDraining ? 'DRAINING' : stored.state,
      draining: isDraining,
      ...(drainRequest !== null && { drainRequest }),
      ...(departure !== null && { departure }),
      config: { gen, config, changedAtMs, actor },
      configRevision: storedLabel({ revision, variant, variantGen }, gen),
    }
  }
}

function charsOf({ hardware, labels, config, lastError, stats }: StoredWorker): number {
  return hardware.length + (labels?.length ?? 0) + config.length + (lastError?.length ?? 0) + (stats?.length ?? 0)
}
