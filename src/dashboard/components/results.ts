/** @module dashboard/components/results  Counts the outcomes of a bulk action. */
import { countText } from './numbers.ts'

export interface Result {
  readonly name: string
  readonly outcome: 'waiting' | 'done' | 'skipped' | 'rejected' | 'unknown'
  readonly text?: string
}

export const MARKS = {
  unknown: { mark: '?', tone: 'warn', word: 'unknown' },
  rejected: { mark: '✗', tone: 'bad', word: 'rejected' },
  skipped: { mark: '–', tone: 'calm', word: 'skipped' },
  done: { mark: '✓', tone: 'good', word: 'done' },
  waiting: { mark: '…', tone: 'calm', word: 'pending' },
} as const
/** Failures first. */
export const ORDER = Object.keys(MARKS) as readonly (keyof typeof MARKS)[]
/** `17 done, 2 rejected, 1 unknown`. */
export function resultsText(results: readonly Result[]): string {
  return ORDER.toReversed()
    .flatMap((outcome) => {
      const n = results.filter((each) => each.outcome === outcome).length
      return n === 0 ? [] : [`${countText(n)} ${MARKS[outcome].word}`]
    })
    .join(', ')
}
