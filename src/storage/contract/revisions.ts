/**
 * @module storage/contract/revisions
 * Defines revisions: named configs that never change. A bulk change (`configs.putMany`) brings many workers to one of
 * them, and records it as the label of each config:
 *
 *   `91bc02f7a1c4/-`          the config was made from revision 91bc02f7a1c4, in the variant `-`
 *   `91bc02f7a1c4/5d0c77e1`   the same revision, with other fields on top
 *   `91bc02f7a1c4/*`          the config was changed since
 *
 * A revision is in use while the label of a worker or an enrolment rule (enrolments.ts) names it. Its tally adds up
 * what workers did under it, and is deleted together with it.
 * @see D132, D133, D138, D141
 */
import type { JsonText } from '../../protocol/index.ts'
import type { EpochMs, PerItem } from './common.ts'

/** A revision as a master stores it. */
export interface NewRevision {
  /** 1 to 256 characters without a slash. */
  readonly name: string
  /** Secrets included. */
  readonly config: JsonText
  readonly managedBy: string | null
  readonly actor: string
}

/** A revision without its config, and its use. */
export interface RevisionRow {
  readonly name: string
  readonly managedBy: string | null
  readonly actor: string
  readonly createdAtMs: EpochMs
  /** Number of workers whose label names it. */
  readonly workers: number
  /** The first and the last time that a bulk change or a rule brought a worker to it; `null` before the first. */
  readonly firstUsedAtMs: EpochMs | null
  readonly lastUsedAtMs: EpochMs | null
  readonly tally: Tally
}

/** Counters by name, such as `runs_ok` or `counter.http_5xx`. A counter that was never added to is left out. */
export type Tally = Readonly<Record<string, number>>

/** What is added to the tally of one revision. */
export interface TallyIncrement {
  readonly revision: string
  /** At most 256 counters with the names of a tally (D138); values from 0 to 2^53 - 1, not only integers. */
  readonly counters: Tally
}

/** `full`: the type has 256 revisions that are in use or among the newest 32; nothing was written. */
export type RevisionPutResult = 'stored' | 'exists' | 'full'

/** Revisions of the configs of one automation type. */
export interface Revisions {
  /**
   * Stores a revision. A stored one is never replaced, and never compared with the new one. Storing one drops those
   * that are neither in use nor among the newest 32.
   *
   * @param type The automation type.
   * @param revision The new revision.
   * @returns `exists` if the name is taken.
   * @throws {FleetError} STORAGE_FULL. Nothing was written. STORAGE_UNAVAILABLE. Safe to retry.
   */
  put(type: string, revision: NewRevision): Promise<RevisionPutResult>
  /**
   * Reads the configs of revisions, secrets included.
   *
   * @param type The automation type.
   * @param names The revisions; an empty list reads nothing.
   * @returns `null` for a name that is not stored, or not any more.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  get(type: string, names: readonly string[]): PerItem<JsonText | null>
  /**
   * Lists the revisions of a type, newest first.
   *
   * @param type The automation type.
   * @returns at most 256 rows; an empty list if the type has none.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  list(type: string): Promise<readonly RevisionRow[]>
  /**
   * Adds to the tallies of revisions. A counter stops at 2^53 - 1. Beyond 64 counters of plugins in a tally, further
   * ones are dropped, in the order of the increment. A revision that is not stored, or not any more, is left out.
   *
   * @param type The automation type.
   * @param increments At most 256.
   * @throws {FleetError} STORAGE_FULL. Nothing was written. STORAGE_UNAVAILABLE. Not safe to retry if the outcome is
   *   unknown: a repeat may add twice.
   * @see D138
   */
  addTallies(type: string, increments: readonly TallyIncrement[]): Promise<void>
}
