/**
 * @module storage/backend
 * Defines the storage contract: the only interface through which a master reads and writes state. memory/, sqlite/ and
 * redis/ implement it. All of them pass test/storage/contract.ts and the model tests.
 *
 * Rules for all methods:
 * - A method takes a batch and returns one result per item. The items of one automation type, pool or namespace are one
 *   atomic step. Redis splits a call on workers into several steps: one per type and per 500 workers or 1 MiB.
 * - A promise resolves only after the change is as durable as `health().profile` promises.
 * - Correctness does not depend on timers that fire or messages that arrive.
 * - No operation takes time proportional to the length of a queue, and everything that grows has a bound.
 * - Payloads are opaque text.
 * - Time is the backend's own: no method takes "now", so two masters cannot disagree on a deadline. Points in time are
 *   integer milliseconds since 1970, durations are integer milliseconds.
 *
 * Errors: what concerns one item is part of its result (`lease_lost`, `not_found`). A wrong argument is a TypeError
 * before any effect. A whole call rejects with a FleetError:
 * - STORAGE_NOT_OPEN: before `open`, or after `close`. Nothing was sent.
 * - STORAGE_UNAVAILABLE: the store does not respond. With `outcome: 'not_sent'` a retry is always safe. With
 *   `'unknown'` the change may have been made; each method states what a retry does then. Reads are always safe to
 *   retry.
 * - STORAGE_OVERLOADED: too many calls wait. Retry later.
 * - STORAGE_FULL: only methods that make the store grow. Retry after space was freed.
 * - STORAGE_CORRUPT: the stored data is damaged. A retry does not help.
 * - STORAGE_LOCKED: only from `open`.
 * - STORAGE_SCHEMA: a newer release wrote the store. From `open`, and later if a newer release migrates a shared store.
 */
import type { AuditLog } from './contract/audit.ts'
import type { Bus } from './contract/bus.ts'
import type { Configs, StatsHistory } from './contract/configs.ts'
import type { Enrolments } from './contract/enrolments.ts'
import type { Operations } from './contract/operations.ts'
import type { Rollouts } from './contract/rollouts.ts'
import type { Rollups } from './contract/rollups.ts'
import type { EventLog } from './contract/events.ts'
import type { Pools } from './contract/pools.ts'
import type { Revisions } from './contract/revisions.ts'
import type { Streams } from './contract/streams.ts'
import type { Tasks } from './contract/tasks.ts'
import type { Counters, Kv, Locks } from './contract/values.ts'
import type { Workers } from './contract/workers.ts'
import type { EpochMs } from './contract/common.ts'

export type { ExtendHoldResult, LeaseRef } from './contract/common.ts'
export type * from './contract/attempts.ts'
export type * from './contract/audit.ts'
export type * from './contract/bus.ts'
export type * from './contract/cancels.ts'
export type * from './contract/configs.ts'
export type * from './contract/dead-groups.ts'
export type * from './contract/dead-letters.ts'
export type * from './contract/enrolments.ts'
export type * from './contract/replays.ts'
export type * from './contract/operations.ts'
export type * from './contract/rollouts.ts'
export type * from './contract/rollups.ts'
export type * from './contract/events.ts'
export type * from './contract/outcomes.ts'
export type * from './contract/pauses.ts'
export type * from './contract/pools.ts'
export type * from './contract/revisions.ts'
export type * from './contract/streams.ts'
export type * from './contract/task-groups.ts'
export type * from './contract/task-lists.ts'
export type * from './contract/tasks.ts'
export type * from './contract/unique-keys.ts'
export type * from './contract/values.ts'
export type * from './contract/workers.ts'

/** What a kind of backend can do. Callers and tests check these flags instead of the name of the backend. */
export interface Capabilities {
  /** Keeps everything across a restart. */
  readonly durable: boolean
  /** May serve several masters at the same time. */
  readonly shared: boolean
  /** Delivers bus messages; without it `bus.publish` does nothing. */
  readonly pubsub: boolean
}

/** One store. Open it before use; after `close` it may be opened again. */
export interface Backend {
  readonly capabilities: Capabilities
  /**
   * Connects, checks the store, migrates its layout, and takes the lock where only one master may use it.
   *
   * @param signal Aborts the start.
   * @param onProgress Called before a step that may take long.
   * @throws {FleetError} STORAGE_LOCKED: another master uses the store. STORAGE_SCHEMA: a newer release wrote it.
   *   STORAGE_CORRUPT: it is damaged, or not a store of Muster. STORAGE_UNAVAILABLE: it cannot be reached or not be
   *   used with its settings. STORAGE_FULL: the disk is full. Safe to retry once the cause is removed.
   * @throws {TypeError} when an earlier `open` has not ended.
   */
  open(signal: AbortSignal, onProgress?: OnProgress): Promise<void>
  /**
   * Rejects new calls with STORAGE_NOT_OPEN, waits for accepted ones, and closes. May be repeated, and called without
   * `open`.
   *
   * @throws {FleetError} STORAGE_UNAVAILABLE if the last write failed. The store is closed nevertheless and keeps what
   *   was acknowledged, so no retry is needed.
   */
  close(): Promise<void>
  /**
   * Returns the last known condition, without I/O.
   *
   * @returns a condition in every state of the backend, also before `open` and after `close`.
   */
  health(): Health
  readonly meta: Meta
  readonly workers: Workers
  readonly configs: Configs
  readonly revisions: Revisions
  readonly enrolments: Enrolments
  readonly rollouts: Rollouts
  readonly operations: Operations
  readonly audit: AuditLog
  readonly rollups: Rollups
  readonly stats: StatsHistory
  readonly streams: Streams
  readonly tasks: Tasks
  readonly pools: Pools
  readonly kv: Kv
  readonly locks: Locks
  readonly counters: Counters
  readonly bus: Bus
  readonly events: EventLog
}

/**
 * Called with each long step of `open`, before it begins.
 *
 * @param step What the backend does, without names or addresses: "checking the structure of the store (542 MiB)".
 */
export type OnProgress = (step: string) => void

/** The condition of a store. */
export interface Health {
  /** The store can be used. */
  readonly ok: boolean
  /** What a crash can lose: `durable`, `last-seconds`, `unsafe`, `unknown` or `volatile` (see README.md). */
  readonly profile: string
  /** When this condition began. */
  readonly sinceMs: EpochMs
  /** One sentence for people. */
  readonly detail: string
}

/** The identity of the store, and the masters that use it. */
export interface Meta {
  /**
   * Reads the identity of the store.
   *
   * @returns `epoch`: a random id that is written once into an empty store. Another epoch means that the store lost its
   *   state. `schema`: the version of the layout, 0 or more. `nowMs`: backend time.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   * @see D15
   */
  info(): Promise<{ readonly epoch: string; readonly schema: number; readonly nowMs: EpochMs }>
  /**
   * Records a heartbeat of this master.
   *
   * @param masterId The random id of the master process, 1 to 256 characters.
   * @returns the ids of all masters whose heartbeat is less than 15 s old, this one included.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  beat(masterId: string): Promise<readonly string[]>
  /**
   * Records what a master implements. Does nothing for a master without a heartbeat in the last 15 s.
   *
   * @param masterId The id of the master, as in `beat`.
   * @param release What it implements, at most 4,096 characters. It ends with the heartbeats of the master.
   * @returns what each live master recorded, in any order; null for one that recorded nothing.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   * @see D120
   */
  declare(masterId: string, release: string): Promise<readonly (string | null)[]>
}
