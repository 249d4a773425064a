/** @module dashboard/parts/results  What became of each item of an act on many. */
import { countText } from './numbers.ts'

export interface Result {
  readonly name: string
  readonly outcome: 'waiting' | 'done' | 'skipped' | 'refused' | 'unknown'
  readonly text?: string
}

export const MARKS = {
  unknown: { mark: '?', tone: 'warn', word: 'unknown' },
  refused: { mark: '✗', tone: 'bad', word: 'refused' },
  skipped: { mark: '–', tone: 'calm', word: 'left out' },
  done: { mark: '✓', tone: 'good', word: 'done' },
  waiting: { mark: '…', tone: 'calm', word: 'to come' },
} as const
/** What went wrong stands first. */
export const ORDER = Object.keys(MARKS) as readonly (keyof typeof MARKS)[]
/** `17 done, 2 refused, 1 unknown`. */
export function resultsText(results: readonly Result[]): string {
  return ORDER.toReversed()
    .flatMap((outcome) => {
      const n = results.filter((each) => each.outcome === outcome).length
      return n === 0 ? [] : [`${countText(n)} ${MARKS[outcome].word}`]
    })
    .join(', ')
}
