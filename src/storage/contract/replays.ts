/**
 * @module storage/contract/replays
 * Defines what is counted of a replay (D180): a replay may have an id, which its tasks carry until they are done or die
 * again. A task that is cancelled, removed or expires is not counted. Neither is one that a master of an earlier
 * release ends.
 */

/** What became of the tasks of a replay. */
export interface ReplayCounts {
  /** How many tasks were acknowledged, 0 or more. */
  readonly done: number
  /** How many tasks are dead again, or were until a later replay, 0 or more. */
  readonly died: number
}

/** The replays of a type that are counted. Methods that replay dead tasks take the id. */
export interface Replays {
  /**
   * Reads the counts of replays.
   *
   * @param type The automation type.
   * @param replays 1 to 500 ids, each 1 to 64 letters, digits and dashes.
   * @returns the counts, in the same order; `null` for a replay that is not counted.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  replayCounts(type: string, replays: readonly string[]): Promise<readonly (ReplayCounts | null)[]>
  /**
   * Stops counting replays. Their tasks keep the id, without effect.
   *
   * @param type The automation type.
   * @param replays 1 to 500 ids.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  forgetReplays(type: string, replays: readonly string[]): Promise<void>
}
