/**
 * @module storage/contract/rollouts
 * Defines rollout reports: what the operator says about the rollout of a set, for readers of the master. The store
 * knows nothing of their content. The head is the short part of a report that lists of many types show; it is another
 * text whenever the report is news.
 *
 * Acknowledgements of the attention list are reports too, of `attention/TYPE` instead of a type, with an empty body.
 * @see D148, D171
 */
import type { JsonText } from '../../protocol/index.ts'

/** The head of one report. */
export interface RolloutHead {
  /** 1 to 256 characters. */
  readonly name: string
  readonly head: JsonText
}

/** One report. */
export interface RolloutReport extends RolloutHead {
  readonly body: JsonText
  /** When the master received it. */
  readonly reportedAtMs: number
}

/**
 * `changed`: the report is stored, and has another head than before, or is new. `updated`: it is stored, with the same
 * head. `full`: the type has 64 reports, and none of this name; nothing was written.
 */
export type RolloutPutResult = 'changed' | 'updated' | 'full'

/** Rollout reports of automation types. */
export interface Rollouts {
  /**
   * Stores a report, or replaces that of this name.
   *
   * @param type The automation type.
   * @param report The report.
   * @returns whether it was stored, and whether its head is news.
   * @throws {FleetError} STORAGE_FULL. Nothing was written. STORAGE_UNAVAILABLE. Safe to retry; a repeat returns
   *   `updated`.
   */
  put(type: string, report: RolloutReport): Promise<RolloutPutResult>
  /**
   * Removes a report.
   *
   * @param type The automation type.
   * @param name The name of the report.
   * @returns its head; null if there is no such report.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry; a repeat returns null.
   */
  remove(type: string, name: string): Promise<JsonText | null>
  /**
   * Reads the reports of a type.
   *
   * @param type The automation type.
   * @returns at most 64 reports, ordered by name, by code units.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  list(type: string): Promise<readonly RolloutReport[]>
  /**
   * Reads the heads of the reports of several types.
   *
   * @param types The automation types.
   * @returns for each type, in the same order, the heads in the order of `list`.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  heads(types: readonly string[]): Promise<readonly (readonly RolloutHead[])[]>
}
