/**
 * @module storage/sqlite/session
 * One opened database with its prepared statements and with what is remembered beside it. It lives until the handle
 * cannot be trusted any more; then the engine drops it and opens another.
 *
 * A group of calls is one transaction: BEGIN, the calls in order, COMMIT, and only then all results. A call that fails
 * by its own fault and changed nothing just returns its error. One that had changed something rolls the group back; the
 * engine then runs each call in a transaction of its own, so that one fails alone. A fault of the medium fails the
 * group.
 */
import { dataOf, type Answer, type Call, type CallGroup, type SyncGroups } from './calls.ts'
import { faultOf, type Database, type Statement } from './driver.ts'
import { kvOf, countersOf, locksOf } from './engine-kv.ts'
import { configsOf } from './engine-configs.ts'
import { poolsOf } from './engine-pools.ts'
import { streamsOf } from './engine-streams.ts'
import { tasksOf } from './engine-tasks.ts'
import { statsOf, workersOf } from './engine-workers.ts'
import { Fences } from './fences.ts'
import { LogMark } from './log-mark.ts'
import { Masters } from './masters.ts'
import { Names } from './names.ts'
import { SCHEMA } from './schema.ts'
import { closeStore, type Store } from './store.ts'
import { Transaction } from './transaction.ts'

/** 16 MiB of pages in the log: then they are copied into the file, so that the log does not grow without bound. */
const LONG_LOG_PAGES = 4_000
/** Freed pages that one step gives back to the disk. */
const VACUUM_PAGES = 2_048

type Run = (...args: readonly unknown[]) => unknown

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
  /** Why the last call failed. */
  #failure = dataOf(undefined)

  /** @param lateCommit Only for tests: returns results before the commit, which a crash then reveals. */
  constructor(store: Store, lateCommit: boolean) {
    const { db } = store
    this.#db = db
    this.#lateCommit = lateCommit
    this.#mark = new LogMark(db.name)
    this.#saveTime = db.prepare(`INSERT INTO meta(k, v) VALUES('time', ?) ON CONFLICT(k) DO UPDATE SET v = excluded.v`)
    this.#changes = db.prepare<[], number>('SELECT total_changes()').pluck()
    this.#logLength = db.prepare<[], { readonly log: number }>('PRAGMA wal_checkpoint(NOOP)')
    const txn = this.#txn
    const names = new Names(db, txn)
    const fences = new Fences(db, txn)
    const masters = new Masters(txn)
    const kv = kvOf(db, txn, names)
    const locks = locksOf(db, txn, names, fences)
    const tasks = tasksOf(db, txn, names, fences)
    const streams = streamsOf(db, txn, names)
    this.#groups = {
      meta: {
        info: () => ({ epoch: store.epoch, schema: SCHEMA, nowMs: txn.nowMs }),
        beat: (masterId) => masters.beat(masterId),
      },
      workers: workersOf(db, txn, names, masters),
      configs: configsOf(db, txn, names),
      stats: statsOf(db, names),
      streams,
      tasks,
      pools: poolsOf(db, txn, names, fences),
      kv,
      locks,
      counters: countersOf(db, txn, names),
    }
    this.#prune = (limit) => tasks.prune(limit) + kv.prune(limit) + locks.prune(limit) + streams.prune(limit)
  }

  /**
   * @returns undefined where the group was rolled back because one of several calls failed after it had changed
   *   something.
   * @throws what the medium threw; nothing of the group was committed, unless COMMIT itself failed.
   */
  run({ nowMs, kind, calls }: CallGroup): readonly Answer[] | undefined {
    if (this.#lateCommit && this.#db.inTransaction) this.#commit()
    this.#setSync(kind !== 'write')
    this.#begin(nowMs)
    try {
      const before = this.#changes.get()
      const results = this.#callAll(calls)
      if (results === undefined || results === 'failed') {
        this.#rollback()
        return results === undefined ? undefined : [{ error: this.#failure }]
      }
      this.#txn.flush()
      const isChanged = this.#changes.get() !== before
      // Else the commit is empty, and costs no fsync: a reserve that finds nothing.
      if (isChanged) this.#saveTime.run(nowMs)
      if (this.#lateCommit) return results
      this.#commit()
      if (isChanged && kind === 'write') this.#mark.set(this.#logLength.get()?.log ?? 0)
      return results
    } catch (error) {
      this.#rollback()
      throw error
    }
  }

  /** Frees what is dead already, a step at a time. True: there is more. */
  maintain(nowMs: number, limit: number): boolean {
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

  #callAll(calls: readonly Call[]): Answer[] | undefined | 'failed' {
    const results: Answer[] = []
    for (const call of calls) {
      const answer = this.#call(call)
      if (answer === undefined) return calls.length > 1 ? undefined : 'failed'
      results.push(answer)
    }
    return results
  }

  /** Undefined: it failed after it had changed something; why stands in `#failure`. */
  #call(call: Call): Answer | undefined {
    const before = this.#changes.get()
    const touched = this.#txn.touches
    try {
      return { ok: runOf(this.#groups, call)(...call.args) }
    } catch (error) {
      if (faultOf(error) !== null) throw error
      this.#failure = dataOf(error)
      return this.#changes.get() === before && this.#txn.touches === touched ? { error: this.#failure } : undefined
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

function runOf(groups: SyncGroups, { group, method }: Call): Run {
  return Reflect.get(groups[group], method) as Run
}
