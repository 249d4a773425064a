/**
 * @module storage/rollup-steps
 * Merges and writes the steps of rollups in the same way on all backends. A resolution is a ring: the step with number
 * n lies at the place n mod the number of steps that are kept, so a new step replaces the one that has expired.
 *
 *   {"p":{"wa":7},"s":{"w3":2}}    the text of a step: peaks and sums
 */
import { HISTORY_RESOLUTIONS, type HistoryResolution, type JsonText } from '../protocol/index.ts'
import type { RollupIncrement, RollupNumbers } from './backend.ts'

/** The numbers of a step. */
export interface StepNumbers {
  readonly peaks: RollupNumbers
  readonly sums: RollupNumbers
}

const NOTHING: StepNumbers = { peaks: {}, sums: {} }

export const isPeakName = (name: string): boolean => /^[a-z]{1,2}$/.test(name)
export const isSumName = (name: string): boolean => /^[a-z]\d{1,2}$/.test(name)

/** @throws {TypeError} if no resolution has steps of this length. */
export function resolutionOf(stepMs: number): HistoryResolution {
  const found = HISTORY_RESOLUTIONS.find((each) => each.stepMs === stepMs)
  if (found === undefined) throw new TypeError(`there are no steps of ${stepMs} ms`)
  return found
}

/**
 * The numbers of the steps that a read covers.
 * @param nowMs Backend time.
 * @returns both ends included; `first` is above `last` if there are none.
 */
export function stepRange(
  { stepMs, steps }: HistoryResolution,
  nowMs: number,
  fromMs: number,
  toMs: number,
): { readonly first: number; readonly last: number } {
  const current = Math.floor(nowMs / stepMs)
  return {
    first: Math.max(Math.ceil(fromMs / stepMs), current - steps + 1),
    last: Math.min(Math.ceil(toMs / stepMs) - 1, current),
  }
}

/** @param stored The text of the step so far; `null` if nothing was added yet. @returns the new text. */
export function addToStep(stored: JsonText | null, { peaks, sums }: Omit<RollupIncrement, 'type'>): JsonText {
  const before = stored === null ? NOTHING : numbersOf(stored)
  const p = merged(before.peaks, peaks, Math.max)
  const s = merged(before.sums, sums, (one, other) => Math.min(one + other, Number.MAX_SAFE_INTEGER))
  return JSON.stringify({ p, s })
}

export function numbersOf(text: JsonText): StepNumbers {
  const { p, s } = JSON.parse(text) as { readonly p: RollupNumbers; readonly s: RollupNumbers }
  return { peaks: p, sums: s }
}

function merged(
  before: RollupNumbers,
  more: RollupNumbers,
  merge: (one: number, other: number) => number,
): RollupNumbers {
  const result: Record<string, number> = { ...before }
  for (const [name, value] of Object.entries(more)) if (value > 0) result[name] = merge(result[name] ?? 0, value)
  return result
}
