/**
 * @module storage/sqlite/session
 * Session runs groups of calls on one opened database, with its prepared statements and the state that is kept in
 * memory. It is used until its handle cannot be trusted any more; then the engine drops it and opens another.
 *
 * A group of calls is one transaction: BEGIN, the calls in order, COMMIT, and only then all results. A call that fails
 * by its own fault and changed nothing just returns its error. One that had changed something rolls the group back; the
 * engine then runs each call in a transaction of its own, so that one fails alone. A fault of the medium fails the
 * group.
 */
import { runCall, type StorageCall, type SyncGroups } from '../index.ts'
import { dataOf, type CallGroup, type CallResult, type ErrorData } from './calls.ts'
import { faultOf, type Database, type Statement } from './driver.ts'
import { SqliteConfigs } from './engine-configs.ts'
import { SqliteCounters } from './engine-counters.ts'
import type { EngineDeps } from './engine-deps.ts'
import type { GroupPolicies } from './engine-groups.ts'
import { SqliteKv } from './engine-kv.ts'
import { SqliteLocks } from './engine-locks.ts'
import { SqlitePools } from './engine-pools.ts'
import { SqliteEnrolments } from './engine-enrolments.ts'
import { SqliteAudit } from './engine-audit.ts'
import { SqliteOperations } from './engine-operations.ts'
import { SqliteRollouts } from './engine-rollouts.ts'
import { SqliteRollups } from './engine-rollups.ts'
import { SqliteRevisions } from './engine-revisions.ts'
import { SqliteStats } from './engine-reports.ts'
import { SqliteStreams } from './engine-streams.ts'
import { SqliteTasks } from './engine-tasks.ts'
import { SqliteWorkers } from './engine-workers.ts'
import { TokenSequences } from './token-sequences.ts'
import { LogMark } from './log-mark.ts'
import { Masters } from './masters.ts'
import { Names } from './names.ts'
import { SCHEMA } from './schema.ts'
import { closeStore, type Store } from './store.ts'
import { Transaction } from './transaction.ts'
import { WorkerRows } from './worker-rows.ts'

/** 16 MiB of pages in the log: then they are copied into the file, so that the log does not grow without bound. */
const LONG_LOG_PAGES = 4_000
/** Freed pages that one step gives back to the disk. */
const VACUUM_PAGES = 2_048

/** `split`: nothing was committed; each call needs its own transaction, so that the one that failed fails alone. */
export type GroupOutcome =
  { readonly kind: 'done'; readonly results: readonly CallResult[] } | { readonly kind: 'split' }

/** `half_done`: a call failed after it had changed something. */
type CallsOutcome =
  | { readonly kind: 'done'; readonly results: readonly CallResult[] }
  | { readonly kind: 'half_done'; readonly error: ErrorData }

/** The groups, and the idle work of those that leave rows behind. */
interface EngineGroups {
  readonly groups: SyncGroups
  readonly prune: (limit: number) => number
}

export class Session {
  readonly #db: Database
  readonly #txn = new Transaction()
  readonly #groups: SyncGroups
  readonly #prune: (limit: number) => number
  readonly #saveTime: Statement<[number]>
  readonly #changes: Statement<[], number>
  readonly #logLength: Statement<[], { readonly log: number }>
  readonly #lateCommit: boolean
  readonly #mark: LogMark
  #relaxed = false

  /**
   * @param policies The group policies of the types.
   * @param lateCommit Only for tests: returns results before the commit, which a crash then reveals.
   */
  constructor(store: Store, policies: GroupPolicies, lateCommit: boolean) {
    const { db } = store
    this.#db = db
    this.#lateCommit = lateCommit
    this.#mark = new LogMark(db.name)
    this.#saveTime = db.prepare(`INSERT INTO meta(k, v) VALUES('time', ?) ON CONFLICT(k) DO UPDATE SET v = excluded.v`)
    this.#changes = db.prepare<[], number>('SELECT total_changes()').pluck()
    this.#logLength = db.prepare<[], { readonly log: number }>('PRAGMA wal_checkpoint(NOOP)')
    const { groups, prune } = engineGroups(store, this.#txn, policies)
    this.#groups = groups
    this.#prune = prune
  }

  /** @throws what the medium threw; nothing of the group was committed, unless COMMIT itself failed. */
  run({ nowMs, kind, calls }: CallGroup): GroupOutcome {
    if (this.#lateCommit && this.#db.inTransaction) this.#commit()
    this.#setSync(kind !== 'write')
    this.#begin(nowMs)
    try {
      const before = this.#changes.get()
      const outcome = this.#callAll(calls)
      if (outcome.kind === 'half_done') {
        this.#rollback()
        if (calls.length > 1) return { kind: 'split' }
        return { kind: 'done', results: [{ kind: 'threw', error: outcome.error }] }
      }
      this.#txn.flush()
      const isChanged = this.#changes.get() !== before
      // Else the commit is empty, and costs no fsync: a reserve that finds nothing.
      if (isChanged) this.#saveTime.run(nowMs)
      if (this.#lateCommit) return outcome
      this.#commit()
      if (isChanged && kind === 'write') this.#mark.set(this.#logLength.get()?.log ?? 0)
      return outcome
    } catch (error) {
      this.#rollback()
      throw error
    }
  }

  /** Frees what is dead already, a step at a time. True: there is more. */
  maintain(nowMs: number, limit: number): boolean {
    if (this.#lateCommit && this.#db.inTransaction) this.#commit()
    this.#setSync(true)
    this.#begin(nowMs)
    try {
      const freed = this.#prune(limit)
      this.#commit()
      return freed >= limit
    } catch (error) {
      this.#rollback()
      throw error
    }
  }

  /**
   * Copies a long log into the file. What was acknowledged is synced before.
   * @throws what the medium threw: the log may have a hole on the disk, so nothing may be committed behind it.
   */
  checkpointLongLog(): void {
    if (this.#lateCommit && this.#db.inTransaction) return // The log cannot be read during a transaction.
    if ((this.#logLength.get()?.log ?? 0) < LONG_LOG_PAGES) return
    try {
      this.#db.pragma('wal_checkpoint(PASSIVE)')
    } catch (error) {
      if (faultOf(error) !== 'full') throw error // Then the log grows on, and the next group tries again.
    }
  }

  /** Gives space of the log and of freed pages back, 8 MiB at most. True: there is more. */
  checkpoint(): boolean {
    this.#db.pragma(`incremental_vacuum(${VACUUM_PAGES})`)
    this.#db.pragma('wal_checkpoint(TRUNCATE)')
    return Number(this.#db.pragma('freelist_count', { simple: true })) > 0
  }

  close(nowMs: number): void {
    if (this.#lateCommit && this.#db.inTransaction) this.#commit()
    closeStore(this.#db, nowMs)
    this.#mark.remove()
  }

  /** Lets go of a handle that failed. */
  drop(): void {
    this.#mark.close()
    this.#db.close()
  }

  #callAll(calls: readonly StorageCall[]): CallsOutcome {
    const results: CallResult[] = []
    for (const call of calls) {
      const changesBefore = this.#changes.get()
      const touchesBefore = this.#txn.touches
      const result = this.#call(call)
      if (result.kind === 'threw') {
        const hasChanged = this.#changes.get() !== changesBefore || this.#txn.touches !== touchesBefore
        if (hasChanged) return { kind: 'half_done', error: result.error }
      }
      results.push(result)
    }
    return { kind: 'done', results }
  }

  /** @throws what the medium threw. */
  #call(call: StorageCall): CallResult {
    try {
      return { kind: 'returned', value: runCall(this.#groups, call) }
    } catch (error) {
      if (faultOf(error) !== null) throw error
      return { kind: 'threw', error: dataOf(error) }
    }
  }

  #begin(nowMs: number): void {
    this.#db.exec('BEGIN IMMEDIATE')
    this.#txn.begin(nowMs)
  }

  #commit(): void {
    this.#db.exec('COMMIT')
  }

  #rollback(): void {
    this.#txn.rollback()
    if (this.#db.inTransaction) this.#db.exec('ROLLBACK')
  }

  /** Only between transactions; a change of it costs no I/O. */
  #setSync(relaxed: boolean): void {
    if (relaxed === this.#relaxed) return
    this.#db.pragma(relaxed ? 'synchronous = NORMAL' : 'synchronous = FULL')
    this.#relaxed = relaxed
  }
}

/** Prepares the statements of all groups. */
function engineGroups(store: Store, txn: Transaction, policies: GroupPolicies): EngineGroups {
  const { db } = store
  const deps: EngineDeps = { db, txn, names: new Names(db, txn), sequences: new TokenSequences(db, txn), policies }
  const masters = new Masters(txn)
  const workers = new WorkerRows(deps)
  const revisions = new SqliteRevisions(deps)
  const enrolments = new SqliteEnrolments(deps, revisions)
  const streams = new SqliteStreams(deps)
  const tasks = new SqliteTasks(deps)
  const kv = new SqliteKv(deps)
  const locks = new SqliteLocks(deps)
  const groups: SyncGroups = {
    meta: {
      info: () => ({ epoch: store.epoch, schema: SCHEMA, nowMs: txn.nowMs }),
      beat: (masterId) => masters.beat(masterId),
      declare: (masterId, text) => masters.declare(masterId, text),
    },
    workers: new SqliteWorkers(deps, { rows: workers, masters, enrolments }),
    configs: new SqliteConfigs(deps, revisions),
    revisions,
    enrolments,
    rollouts: new SqliteRollouts(deps),
    operations: new SqliteOperations(deps),
    audit: new SqliteAudit(deps),
    rollups: new SqliteRollups(deps),
    stats: new SqliteStats(deps, workers),
    streams,
    tasks,
    pools: new SqlitePools(deps),
    kv,
    locks,
    counters: new SqliteCounters(deps),
  }
  const prune = (limit: number): number =>
    tasks.prune(limit) + kv.prune(limit) + locks.prune(limit) + streams.prune(limit)
  return { groups, prune }
}
