/**
 * @module storage/sqlite/engine
 * Engine runs groups of calls synchronously, in the storage thread in production and without one in tests. It owns the
 * database and survives its faults:
 *
 *   open ──run──▶ open
 *    │ disk full: rolled back, the group fails with STORAGE_FULL
 *    │ I/O error, failed commit: dropped; the group's outcome is unknown ──next call──▶ opened anew, with its checks
 *    │                                                                  and its log emptied (store.ts)
 *    └ broken structure: dropped and checked; if confirmed, STORAGE_CORRUPT from now on
 */
import { FleetError } from '../../protocol/index.ts'
import { dataOf, storageError, type CallResult, type CallGroup, type ErrorData } from './calls.ts'
import type { GroupPolicies } from './engine-groups.ts'
import { faultOf, messageOf } from './driver.ts'
import { Session } from './session.ts'
import { openStore, type OnCheck } from './store.ts'

export interface EngineOptions {
  readonly path: string
  /** Written into an empty store. */
  readonly newEpoch: string
  /** Only for tests: results are returned before the commit. */
  readonly lateCommit?: boolean
}

export interface Opened {
  readonly timeMs: number
  readonly warnings: readonly string[]
}

/** Rows freed in one step of the idle work: below 20 ms. */
const PRUNE_ROWS = 1_000

export class Engine {
  readonly #options: EngineOptions
  readonly #onCheck: OnCheck
  /** Outlive a session that failed. */
  readonly #policies: GroupPolicies = new Map()
  #session: Session | undefined
  #broken: FleetError | undefined
  #hadFault = false
  #hadFalseAlarm = false

  constructor(options: EngineOptions, onCheck: OnCheck = () => undefined) {
    this.#options = options
    this.#onCheck = onCheck
  }

  /** @throws {FleetError} STORAGE_LOCKED, STORAGE_SCHEMA, STORAGE_CORRUPT, STORAGE_UNAVAILABLE. */
  open(): Opened {
    const store = openStore(this.#options.path, this.#options.newEpoch, this.#hadFault, this.#onCheck)
    try {
      this.#session = new Session(store, this.#policies, this.#options.lateCommit === true)
    } catch (error) {
      store.db.close()
      throw faultOf(error) === 'corrupt' ? this.#corrupt(error) : error
    }
    return { timeMs: store.timeMs, warnings: store.warnings }
  }

  /** Never throws: a failure of the medium is the result of every call it met. */
  run(group: CallGroup): readonly CallResult[] {
    try {
      const outcome = this.#opened().run(group)
      if (outcome.kind === 'done') {
        this.#checkpoint()
        return outcome.results
      }
    } catch (error) {
      const failure: ErrorData = dataOf(this.#failed(error))
      return group.calls.map(() => ({ kind: 'threw', error: failure }))
    }
    return group.calls.flatMap((call) => this.run({ ...group, calls: [call] }))
  }

  /** One step of background work. Returns true if there is more to free. `idle`: a checkpoint would delay no call. */
  maintain(nowMs: number, idle: boolean): boolean {
    if (this.#session === undefined) return false
    try {
      const more = this.#session.maintain(nowMs, PRUNE_ROWS)
      return idle && !more ? this.#session.checkpoint() : more
    } catch (error) {
      this.#failed(error)
      return false
    }
  }

  /**
   * What was acknowledged is committed already, so a disk that fails here costs the mark of a clean stop, and nothing
   * else.
   */
  close(nowMs: number): void {
    const session = this.#session
    this.#session = undefined
    try {
      session?.close(nowMs)
    } catch (error) {
      if (faultOf(error) === null) throw error
    }
  }

  /** An error of it does not concern the group before, which is committed and synced. */
  #checkpoint(): void {
    try {
      this.#session?.checkpointLongLog()
    } catch (error) {
      this.#failed(error)
    }
  }

  #opened(): Session {
    if (this.#broken !== undefined) throw this.#broken
    if (this.#session === undefined) this.open()
    if (this.#session === undefined)
      throw storageError('STORAGE_UNAVAILABLE', `${this.#options.path} is not open`, 'not_sent')
    return this.#session
  }

  /** Decides whether the handle is closed, and with which error callers are rejected. */
  #failed(error: unknown): unknown {
    switch (faultOf(error)) {
      case 'full':
        return storageError('STORAGE_FULL', 'the disk of the store is full; free some space', 'not_sent', error)
      case 'corrupt':
        this.#drop()
        this.#broken = this.#confirmedDamage(error)
        return this.#broken ?? this.#unknown(error)
      case 'busy':
      case 'io':
        this.#drop()
        return this.#unknown(error)
      case null:
        if (error instanceof FleetError && error.code === 'STORAGE_CORRUPT') this.#broken = error
        return error
    }
  }

  #unknown(error: unknown): FleetError {
    return storageError(
      'STORAGE_UNAVAILABLE',
      `${this.#options.path}: ${messageOf(error)}; whether the change was made is not known`,
      'unknown',
      error,
    )
  }

  /**
   * Checks a file that SQLite calls damaged. SQLite says this also of a sound file when a read of it failed once (EIO).
   * The check finds broken structure, but not everything that SQLite stumbles over, so it is believed only once.
   *
   * @returns undefined if the check found nothing, or could not be made: the next call opens the store again.
   */
  #confirmedDamage(error: unknown): FleetError | undefined {
    if (this.#hadFalseAlarm) return this.#corrupt(error)
    try {
      this.open()
      this.#hadFalseAlarm = true
      return undefined
    } catch (found) {
      return found instanceof FleetError && found.code === 'STORAGE_CORRUPT' ? found : undefined
    }
  }

  #corrupt(error: unknown): FleetError {
    return storageError(
      'STORAGE_CORRUPT',
      `${this.#options.path} is damaged: ${messageOf(error)}; restore it from a backup, or name another file`,
      undefined,
      error,
    )
  }

  #drop(): void {
    this.#hadFault = true
    const session = this.#session
    this.#session = undefined
    try {
      session?.drop()
    } catch {
      // The handle failed before; that closing it fails as well changes nothing.
    }
  }
}
