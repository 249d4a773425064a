/**
 * @module storage/contract/configs
 * Defines worker configs with their history, and the history of worker statistics.
 */
import type { JsonText } from '../../protocol/index.ts'
import type { EpochMs, PerItem } from './common.ts'
import type { Ref } from './workers.ts'

/** The stored config of one worker. */
export interface ConfigRow {
  /** Grows by one with every change and never falls within an epoch (D46). */
  readonly gen: number
  /** Secrets included; the master masks them. */
  readonly config: JsonText
  /** Last change by `put`; `null` while the config is still the default one. */
  readonly changedAtMs: EpochMs | null
  /** Who made that change; `null` while the config is still the default one. */
  readonly actor: string | null
}

/** A config with its label, and who manages it. */
export interface ManagedConfigRow extends ConfigRow {
  /**
   * The label: `<revision>/<variant>` of the last bulk change; the variant is `*` if the config was changed since.
   * `null` if the worker never had one (D133).
   */
  readonly configRevision: string | null
  readonly managedBy: string | null
}

/** One change of a config. */
export interface HistoryRow {
  /** The generation that this change made. */
  readonly gen: number
  readonly changedAtMs: EpochMs
  readonly actor: string
  /** The top-level names that changed; empty if the change set equal values. */
  readonly changed: readonly string[]
  /** The config after the change; `null` for a bulk change. */
  readonly config: JsonText | null
  /** Of a bulk change: the revision, and the fields in which the config differs from it. */
  readonly bulk?: { readonly revision: string; readonly patch: JsonText }
}

/** A compare-and-set of one config. */
export interface ConfigPut extends Ref {
  /** The generation that the change is based on. */
  readonly expectGen: number
  /** The config that the change is based on. A store that lost changes may have given its generation to another one. */
  readonly expectConfig?: JsonText
  readonly config: JsonText
  readonly changed: readonly string[]
  readonly actor: string
}

/**
 * The result of one compare-and-set. `stored`: the new generation, always `expectGen + 1`, and the connection to notify
 * (`null` if the worker has none). `conflict`: another config is stored, which is `current`; nothing was written.
 * `not_found`: the worker has no record.
 */
export type ConfigPutResult =
  | { readonly kind: 'stored'; readonly gen: number; readonly conn: string | null }
  | { readonly kind: 'conflict'; readonly current: ConfigRow }
  | { readonly kind: 'not_found' }

/** What all configs of one bulk change have in common. */
export interface BulkChange {
  /** The name of a stored revision, which the labels will name. */
  readonly revision: string
  /** The manager of the workers from now on; `null` leaves each as it is. */
  readonly managedBy: string | null
  readonly actor: string
}

/** The change of one worker in a bulk change. */
export interface BulkPut {
  readonly id: string
  /** What the change is based on, as `get` returned it. */
  readonly expectGen: number
  readonly expectConfig: JsonText
  readonly expectManagedBy: string | null
  /** The second part of the label. */
  readonly variant: string
  /** The new config; `null` if only the label and the manager change, which keeps the generation. */
  readonly change: BulkConfig | null
}

/** A new config, and how it differs. */
export interface BulkConfig {
  readonly config: JsonText
  /** The fields in which it differs from the revision, for the history. */
  readonly patch: JsonText
  /** The top-level names that differ from the config before. */
  readonly changed: readonly string[]
}

/**
 * The result of one put of a bulk change. `stored`: the generation, and the connection to notify (`null` if the worker
 * has none). `conflict`: another config or another manager is stored. `not_found`: the worker has no record.
 * `unknown_revision`: the revision is not stored, or not any more. Nothing was written, unless `stored`.
 */
export type BulkPutResult =
  | { readonly kind: 'stored'; readonly gen: number; readonly conn: string | null }
  | { readonly kind: 'conflict' }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'unknown_revision' }

/**
 * The result of raising one generation. `raised`: the generation now stored and the connection to notify (`null` if the
 * worker has none). `too_far`: it would rise by more than 1,000,000 in one call; nothing was written. The limit keeps a
 * forged generation from using up the numbers. `not_found`: the worker has no record.
 */
export type ConfigRaiseResult =
  | { readonly kind: 'raised'; readonly gen: number; readonly conn: string | null }
  | { readonly kind: 'too_far' }
  | { readonly kind: 'not_found' }

/** Configs of workers. */
export interface Configs {
  /**
   * Replaces a config if it still is the expected one, and adds a row to the history.
   *
   * A config that is equal to the stored one still raises the generation.
   *
   * @param put The new config and what it is based on.
   * @returns whether it was stored.
   * @throws {FleetError} STORAGE_FULL. Nothing was written.
   *   STORAGE_UNAVAILABLE. Not safe to retry blindly: if the outcome is unknown, a repeat may conflict with its own
   *   change. Read the config first.
   * @see D16, D18
   */
  put(put: ConfigPut): Promise<ConfigPutResult>
  /**
   * Reads configs.
   *
   * @param refs The workers; an empty list reads nothing.
   * @returns `null` for a worker without a record.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  get(refs: readonly Ref[]): PerItem<ManagedConfigRow | null>
  /**
   * Replaces the configs of many workers by one revision. Each put is a compare-and-set of its own: config, label,
   * manager and history row of a worker change in one step, if it still has the expected config and manager. The whole
   * call is one step; Redis splits it at 1 MiB of configs.
   *
   * @param type The automation type.
   * @param bulk The revision.
   * @param puts 1 to 200 workers, each of them once.
   * @returns whether each put was stored.
   * @throws {FleetError} STORAGE_FULL. Some puts may be stored.
   *   STORAGE_UNAVAILABLE. Safe to retry after the configs were read again: those with the new label were written.
   * @see D132
   */
  putMany(type: string, bulk: BulkChange, puts: readonly BulkPut[]): PerItem<BulkPutResult>
  /**
   * Reads the changes of a config, newest first. The newest 50 are kept.
   *
   * @param ref The worker.
   * @param limit At most this many changes, 1 to 10,000.
   * @param skip Leaves out this many of the newest changes, 0 to 10,000; 0 if omitted.
   * @returns an empty list for a worker without a record, or without changes.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   * @see D39
   */
  history(ref: Ref, limit: number, skip?: number): Promise<readonly HistoryRow[]>
  /**
   * Raises a generation to `above + 1`, unless it is already higher. Config and history stay unchanged. A call may act
   * twice, with a change of another caller in between; the result is then that of the second time.
   *
   * @param items `above`: a generation that a worker reported, 0 or more.
   * @returns the generation now stored, or why it was not raised.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   * @see D46
   */
  raise(items: readonly (Ref & { readonly above: number })[]): PerItem<ConfigRaiseResult>
}

/** The frames of one worker, or `not_found` for a worker without a record. */
export type StatsReadResult =
  { readonly kind: 'frames'; readonly frames: readonly JsonText[] } | { readonly kind: 'not_found' }

/** The history of worker statistics, which `workers.beat` writes. */
export interface StatsHistory {
  /**
   * Reads stats frames, oldest first. The newest 240 of a worker are kept, in the order of arrival. Large frames
   * are shortened in the history.
   *
   * @param ref The worker.
   * @param sinceSeconds Only frames whose `ts` is not below it, in seconds since 1970: a finite number; 0 reads all.
   * @param limit The newest ones of them, 1 to 10,000.
   * @returns `frames` is empty if no frame matches.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   * @see D10, D84
   */
  read(ref: Ref, sinceSeconds: number, limit: number): Promise<StatsReadResult>
}
