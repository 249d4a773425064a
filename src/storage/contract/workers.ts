/**
 * @module storage/contract/workers
 * Defines the worker registry: registration, reports, drains, ownership and reading of worker records.
 */
import type { JsonText, ReportedState, WorkerState } from '../../protocol/index.ts'
import type { EpochMs, PerItem } from './common.ts'
import type { ConfigRow } from './configs.ts'
import type { Enrolment } from './enrolments.ts'

/** Names one worker. The id is unique within its automation type. Both are 1 to 256 characters of well-formed text. */
export interface Ref {
  readonly type: string
  readonly id: string
}

/** Names one connection of a worker. */
export interface Conn extends Ref {
  /** `<masterId>/<n>`, new for each accepted register frame. The part before the last slash names the master. */
  readonly conn: string
}

/** Who closed a connection, and why. */
export interface ConnectionEnd {
  /** `network`: it ended without a close frame, so the process was killed, or its network failed. */
  readonly by: 'worker' | 'master' | 'network'
  /** The close code (RFC 6455); 1006 without a close frame. */
  readonly code: number
  /** At most 123 characters; empty if none was given. */
  readonly reason: string
}

/** A connection that ended. */
export interface EndedConn extends Conn {
  /** The worker said that its process ends in an orderly way (D142). */
  readonly ended?: boolean
  /** How it ended; omitted if it is not known, because the master of the connection stopped. */
  readonly end?: ConnectionEnd
}

/** When a drain was requested, and by whom (D195). */
export interface DrainRequest {
  readonly atMs: EpochMs
  /** 1 to 256 characters. */
  readonly actor: string
}

/** How the last connection of a worker that is not connected ended (D195). */
export interface Departure extends ConnectionEnd {
  readonly atMs: EpochMs
  /** Whether a drain was set when it ended. */
  readonly wasDraining: boolean
  /** The request of that drain; `null` if there was no drain, or if it is not known. */
  readonly drain: DrainRequest | null
}

/** A worker to drain. */
export interface DrainTarget extends Ref {
  /** Who requests the drain, 1 to 256 characters; omitted if it is not known. */
  readonly actor?: string
}

/** A register frame as a master passes it on. */
export interface Registration extends Conn {
  /** Random id of the worker process (D5); `''` if the worker sent none. */
  readonly instance: string
  /** The hardware the worker reported, stored as it is. */
  readonly hardware: JsonText
  /** The labels the worker sent, stored as they are; omitted for none. They replace those of the record (D136). */
  readonly labels?: JsonText | undefined
  /** The config for a worker without a record; ignored for a known worker. */
  readonly defaults: JsonText
  /** The version of the enrolment rules by which `defaults` were chosen; omitted before the first one (D141). */
  readonly rules?: string | undefined
  /** The rule that `defaults` come from, for a worker without a record; omitted for none. */
  readonly enrolment?: Enrolment | undefined
}

/** The status that a worker's record shows. */
export interface RecordedStatus {
  /** As last reported; `DRAINING` while a drain is set. */
  readonly state: WorkerState
  readonly lastError: string | null
  /** `config_gen` of the newest state frame; `null` before the first one. */
  readonly appliedGen: number | null
}

/**
 * The result of registering one worker. `full`: the type has its maximum number of records. `rules_changed`: the worker
 * has no record, and its type has another version of the enrolment rules. Nothing was written, unless `registered`.
 */
export type RegisterResult =
  | {
      readonly kind: 'registered'
      /** What the record showed before this register; `null` if the record was created. */
      readonly previous: RecordedStatus | null
      /** A drain applies to this process: send it the drain frame. */
      readonly drain: boolean
      /** The connection that this register replaces and that has to be closed (D11); `null` if there is none. */
      readonly replaced: string | null
      /** The stored config generation. */
      readonly gen: number
      /**
       * Another process than before registers: the record had another instance. Omitted if the record was created, or
       * if the process sent no instance.
       */
      readonly isRestart?: true
    }
  | { readonly kind: 'full' }
  | { readonly kind: 'rules_changed' }

/**
 * The result of draining one worker. `draining`: the connection to send the drain frame to, `null` if the record has
 * none. `not_found`: the worker has no record.
 */
export type DrainResult = { readonly kind: 'draining'; readonly conn: string | null } | { readonly kind: 'not_found' }

/** What arrived on one connection since its last report. Without state and stats only `lastSeenAtMs` changes. */
export interface WorkerReport extends Conn {
  readonly state?: { readonly state: ReportedState; readonly gen: number; readonly lastError: string | null }
  /** Stats frames, oldest first. */
  readonly stats?: readonly JsonText[]
}

/** The result of one report. */
export interface ReportResult {
  /**
   * `ok`: recorded. `drain`: recorded, and a drain is set; send the drain frame if this connection has not had it.
   * `replaced`: another connection, or none, owns the record; nothing was written.
   * `unknown`: the worker has no record (it was forgotten); nothing was written.
   */
  readonly status: 'ok' | 'drain' | 'replaced' | 'unknown'
  /** The stored config generation; 0 if unknown. If it is above the one sent to the worker, send config_changed. */
  readonly gen: number
  /** The revision that wrote this generation; omitted if none did, or for a worker that was not reported. */
  readonly revision?: string
}

/** One worker record. */
export interface WorkerRow extends Ref {
  /** The newest connection; `null` after a disconnect. */
  readonly conn: string | null
  /** `conn` is set and its master has sent a heartbeat within 15 s. */
  readonly connected: boolean
  /** The last process ended in an orderly way, and none has registered since (D142). */
  readonly ended: boolean
  readonly registeredAtMs: EpochMs
  readonly hardware: JsonText
  /** The labels of the newest register; `null` if it had none (D136). */
  readonly labels: JsonText | null
  /** `DRAINING` while a drain is set, whatever the worker reported. */
  readonly state: WorkerState
  /** Last change of the state or of the connection. */
  readonly stateSinceMs: EpochMs
  /** Last register or report. */
  readonly lastSeenAtMs: EpochMs
  /** At most 4,096 characters. */
  readonly lastError: string | null
  readonly draining: boolean
  /** The request of the drain; omitted without a drain, or if an earlier release has recorded it (D195). */
  readonly drainRequest?: DrainRequest
  /** How the last connection ended; omitted while there is one, or if it is not known (D195). */
  readonly departure?: Departure
  readonly managedBy: string | null
  /** `config_gen` of the newest state frame; `null` before the first one. */
  readonly appliedGen: number | null
  readonly config: ConfigRow
  /** The label of the config; see `ManagedConfigRow`. */
  readonly configRevision: string | null
  /** The newest stats frame, whole; `null` before the first one. */
  readonly stats: JsonText | null
}

/** The worker registry. Every method may reject with STORAGE_UNAVAILABLE; each states whether a retry is safe. */
export interface Workers {
  /**
   * Creates the records of new workers and updates those of known ones.
   *
   * A new record is IDLE, has the default config and generation 0, and label and manager of its enrolment. If the
   * worker was forgotten before, its generation is the kept one + 1 (D46). For a known worker hardware, labels,
   * instance and connection are replaced; state and config stay. A drain ends, and the state becomes IDLE, if another
   * process registers than the one that was to be drained.
   *
   * @param items `conn` and `instance` name the connection and the process that register.
   * @returns what the record showed before and what the master has to send to the worker, or why there is no record.
   * @throws {FleetError} STORAGE_FULL. Retry after space was freed.
   *   STORAGE_UNAVAILABLE. Safe to retry with the same connection: it does not count as replaced.
   * @see D3, D5, D6, D11, D46, D141
   */
  register(items: readonly Registration[]): PerItem<RegisterResult>
  /**
   * Records what workers reported. A full store may drop older stats frames; it does not reject the call.
   *
   * @param items One report per connection.
   * @returns whether the report was recorded, and the generation of the config.
   * @throws {FleetError} STORAGE_UNAVAILABLE. A retry without `stats` is safe. With `stats` an unknown outcome may
   *   store the frames twice.
   * @see D47
   */
  beat(items: readonly WorkerReport[]): PerItem<ReportResult>
  /**
   * Clears the connection of each record that still has this connection; other records stay unchanged. `ended` and
   * `departure` of the record become those of the item.
   *
   * @param items The connections that ended.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  disconnect(items: readonly EndedConn[]): Promise<void>
  /**
   * Sets a drain. It applies to the connected process: to its instance, or to its connection if it sent no instance. If
   * the worker is not connected, it applies to the process that registers next. Repeating it changes nothing, also
   * by another actor.
   *
   * @param items The workers, and who drains them.
   * @returns the connection to notify, or `not_found`.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   * @see D6, D61, D195
   */
  drain(items: readonly DrainTarget[]): PerItem<DrainResult>
  /**
   * Sets or clears the name of the manager of a worker.
   *
   * @param items `managedBy`: 1 to 256 characters, or `null` for none.
   * @returns `not_found` for a worker without a record.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   * @see D31
   */
  manage(items: readonly (Ref & { readonly managedBy: string | null })[]): PerItem<'ok' | 'not_found'>
  /**
   * Deletes record, config, config history and stats. Only the config generation is kept.
   *
   * @param refs The workers.
   * @returns false if the worker has no record.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry; a repeat returns false.
   * @see D46
   */
  forget(refs: readonly Ref[]): PerItem<boolean>
  /**
   * Reads worker records.
   *
   * @param refs The workers; an empty list reads nothing.
   * @returns `null` for a worker without a record.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  get(refs: readonly Ref[]): PerItem<WorkerRow | null>
  /**
   * Reads one page of the records of a type, ordered by the UTF-8 bytes of the id.
   *
   * @param type The automation type.
   * @param after Only ids behind this one; it need not exist. `null`: from the start.
   * @param limit At most this many rows, 1 to 1,000.
   * @param bytes 1 to 32 MiB, 32 MiB if omitted. The page ends early at it, but has at least one row.
   * @returns an empty list behind the last record. A page shorter than `limit` is not the last one: read until empty.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   * @see D40, D56
   */
  page(type: string, after: string | null, limit: number, bytes?: number): Promise<readonly WorkerRow[]>
}
