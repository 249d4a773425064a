/** @module dashboard/workers/state-chips  Counts workers by what the chips above the list filter by. */
import { isBehind, stateWord, type StateWord } from './display-state.ts'
import type { Filter } from './filter.ts'
import type { WorkerRow } from './row.ts'

type ChipWord = StateWord | 'behind'

interface Chip {
  readonly word: ChipWord
  /** The filter that shows the workers that are counted. */
  readonly term: string
  readonly tone: 'bad' | 'warn' | 'offline' | 'calm' | 'good'
}

/** In the order of severity (D177). */
export const CHIPS: readonly Chip[] = [
  { word: 'ERROR', term: 'state:error', tone: 'bad' },
  { word: 'offline', term: 'state:offline', tone: 'offline' },
  { word: 'late', term: 'state:late', tone: 'warn' },
  { word: 'behind', term: 'behind:yes', tone: 'warn' },
  { word: 'DRAINING', term: 'state:draining', tone: 'warn' },
  { word: 'IDLE', term: 'state:idle', tone: 'calm' },
  { word: 'RUNNING', term: 'state:running', tone: 'good' },
]

/** The fields of the terms: a filter has one chip at most. */
export const CHIP_FIELDS = ['state', 'behind'] as const

export type ChipCounts = Readonly<Record<ChipWord, number>>

/** Counts the workers that the filter matches. A worker that is behind is counted in its state as well. */
export function chipCounts(rows: Iterable<WorkerRow>, filter: Filter, nowSeconds: number): ChipCounts {
  const counts = { ERROR: 0, offline: 0, late: 0, behind: 0, DRAINING: 0, IDLE: 0, RUNNING: 0 }
  for (const row of rows) {
    if (!filter.matches(row, nowSeconds)) continue
    counts[stateWord(row, nowSeconds)] += 1
    if (isBehind(row)) counts.behind += 1
  }
  return counts
}
