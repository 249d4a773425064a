/**
 * @module storage/contract/rollups
 * Defines rollups: numbers of one automation type, merged by steps of time. Each add changes the current step of every
 * resolution (`HISTORY_RESOLUTIONS`), so several masters may add to the same step, and a coarse step needs no job that
 * makes it of finer ones. The store knows two ways to merge and nothing of what the numbers mean.
 *
 *   add {peaks: {wa: 7}, sums: {w3: 2}} at 12:00:07     15 s from 12:00:00: wa 7, w3 2    1 min from 12:00: wa 7, w3 2
 *   add {peaks: {wa: 4}, sums: {w3: 1}} at 12:00:52     15 s from 12:00:45: wa 4, w3 1    1 min from 12:00: wa 7, w3 3
 *
 * @see D166
 */
import type { EpochMs } from './common.ts'

/** Numbers by name. One that is 0 is left out in what the store returns. */
export type RollupNumbers = Readonly<Record<string, number>>

/** What is added to the current steps of one type. All values are integers from 0 to 2^53 - 1. */
export interface RollupIncrement {
  readonly type: string
  /** Names of one or two letters a to z. A step keeps the largest value of each. */
  readonly peaks: RollupNumbers
  /** Names of a letter a to z and a number below 100. A step keeps the sum of each, at most 2^53 - 1. */
  readonly sums: RollupNumbers
}

/** What was added to one step. */
export interface RollupStep {
  readonly startMs: EpochMs
  readonly peaks: RollupNumbers
  readonly sums: RollupNumbers
}

/** The rollups of automation types. */
export interface Rollups {
  /**
   * Adds to the current step of each resolution. An increment without numbers still makes a step, which shows that
   * the type was observed. Steps that are no longer kept are dropped.
   *
   * @param increments At most 10,000; those of one type are one atomic step each.
   * @throws {FleetError} STORAGE_FULL. Some types may be written. STORAGE_UNAVAILABLE. Not safe to retry if the outcome
   *   is unknown: a repeat may add the sums twice.
   */
  add(increments: readonly RollupIncrement[]): Promise<void>
  /**
   * Reads the steps of one resolution, oldest first.
   *
   * @param type The automation type.
   * @param stepMs The resolution: the `stepMs` of one of `HISTORY_RESOLUTIONS`.
   * @param fromMs The earliest start of a step, 0 or more.
   * @param toMs The end: a step that starts then is left out.
   * @returns the steps that something was added to, among the newest that the resolution keeps.
   * @throws {FleetError} STORAGE_UNAVAILABLE. Safe to retry.
   */
  read(type: string, stepMs: number, fromMs: EpochMs, toMs: EpochMs): Promise<readonly RollupStep[]>
}
