/**
 * @module storage/sqlite/engine-reports
 * WorkerReports records what workers report, and SqliteStats reads their stats frames, which are kept in a ring. The
 * newest frame is the newest one of the ring, unless it was shortened for the ring: then `stats` has the whole frame.
 */
import { STATS_FRAMES, type ReportedState } from '../../protocol/index.ts'
import {
  cutError,
  ringFrame,
  timeOfFrame,
  writtenBy,
  type Ref,
  type ReportResult,
  type StatsHistory,
  type StatsReadResult,
  type Sync,
  type WorkerReport,
} from '../index.ts'
import type { Database, Statement } from './driver.ts'
import type { EngineDeps } from './engine-deps.ts'
import type { Transaction } from './transaction.ts'
import type { FoundWorker, WorkerRows } from './worker-rows.ts'

function statementsOf(db: Database) {
  return {
    setSeen: db.prepare<[number, number, string]>('UPDATE worker SET seen = ? WHERE type = ? AND id = ?'),
    setState: db.prepare<[ReportedState, number, number, string | null, number, string]>(
      'UPDATE worker SET state = ?, since = ?, applied_gen = ?, error = ? WHERE type = ? AND id = ?',
    ),
    setStats: db.prepare<[number, string | null, number, string]>(
      'UPDATE worker SET frames = ?, stats = ? WHERE type = ? AND id = ?',
    ),
    putFrame: db.prepare<[number, string, number, number, number, string]>(
      `INSERT INTO stat(type, id, slot, n, ts, frame) VALUES(?, ?, ?, ?, ?, ?)
        ON CONFLICT(type, id, slot) DO UPDATE SET n = excluded.n, ts = excluded.ts, frame = excluded.frame`,
    ),
  }
}

export class WorkerReports {
  readonly #txn: Transaction
  readonly #rows: WorkerRows
  readonly #sql: ReturnType<typeof statementsOf>

  constructor({ db, txn }: EngineDeps, rows: WorkerRows) {
    this.#txn = txn
    this.#rows = rows
    this.#sql = statementsOf(db)
  }

  record(report: WorkerReport): ReportResult {
    const found = this.#rows.find(report)
    if (found === undefined) return { status: 'unknown', gen: 0 }
    const { type, worker } = found
    if (worker.conn !== report.conn) return { status: 'replaced', gen: worker.gen }
    this.#sql.setSeen.run(this.#txn.nowMs, type, report.id)
    if (report.state !== undefined) this.#setState(found, report.id, report.state)
    if (report.stats !== undefined && report.stats.length > 0) this.#addFrames(found, report.id, report.stats)
    const { drain, gen, revision, variantGen } = worker
    return { status: drain === null ? 'ok' : 'drain', gen, ...writtenBy(revision, variantGen, gen) }
  }

  #setState({ type, worker }: FoundWorker, id: string, reported: NonNullable<WorkerReport['state']>): void {
    const { state, gen, lastError } = reported
    const isShown = worker.drain === null // Else the record reads DRAINING, whatever is reported.
    const since = isShown && state !== worker.state ? this.#txn.nowMs : worker.since
    this.#sql.setState.run(state, since, gen, lastError === null ? null : cutError(lastError), type, id)
  }

  #addFrames({ type, worker }: FoundWorker, id: string, frames: readonly string[]): void {
    let n = worker.frames
    let wholeFrame: string | null = null
    for (const frame of frames) {
      const kept = ringFrame(frame)
      this.#sql.putFrame.run(type, id, n % STATS_FRAMES, n, timeOfFrame(kept), kept)
      wholeFrame = kept === frame ? null : frame
      n += 1
    }
    this.#sql.setStats.run(n, wholeFrame, type, id)
  }
}

export class SqliteStats implements Sync<StatsHistory> {
  readonly #rows: WorkerRows
  readonly #newest: Statement<[number, string, number, number], string>

  constructor({ db }: EngineDeps, rows: WorkerRows) {
    this.#rows = rows
    this.#newest = db
      .prepare<[number, string, number, number], string>(
        'SELECT frame FROM stat WHERE type = ? AND id = ? AND ts >= ? ORDER BY n DESC LIMIT ?',
      )
      .pluck()
  }

  read(ref: Ref, sinceSeconds: number, limit: number): StatsReadResult {
    const found = this.#rows.find(ref)
    if (found === undefined) return { kind: 'not_found' }
    return { kind: 'frames', frames: this.#newest.all(found.type, ref.id, sinceSeconds, limit).toReversed() }
  }
}
