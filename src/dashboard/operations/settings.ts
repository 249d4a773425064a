/**
 * @module dashboard/operations/settings
 * Reads the fields of the dialog that creates an operation: its pace, and when it stops.
 */
import type { OperationBody } from '../../protocol/index.ts'

/** What the user typed. An empty `stopAfter`: it never stops by itself. */
export interface PaceDraft {
  readonly perSecond: string
  readonly parallel: string
  readonly stopAfter: string
}

export const FIRST_PACE: PaceDraft = { perSecond: '20', parallel: '20', stopAfter: '3' }

const MAX = { perSecond: 1_000, parallel: 500, stopAfter: 10_000 } as const
const MIN_PER_SECOND = 0.1

export type Pace = Pick<OperationBody, 'per_second' | 'parallel' | 'stop_after'>

/** The fields that have no valid number. */
export function paceFaults({ perSecond, parallel, stopAfter }: PaceDraft): ReadonlySet<keyof PaceDraft> {
  const faults = new Set<keyof PaceDraft>()
  const rate = numberOf(perSecond)
  if (!(rate >= MIN_PER_SECOND && rate <= MAX.perSecond)) faults.add('perSecond')
  if (!isWhole(parallel, MAX.parallel)) faults.add('parallel')
  if (stopAfter.trim() !== '' && !isWhole(stopAfter, MAX.stopAfter)) faults.add('stopAfter')
  return faults
}

/** @param draft Without faults. */
export const paceOf = ({ perSecond, parallel, stopAfter }: PaceDraft): Pace => ({
  per_second: numberOf(perSecond),
  parallel: numberOf(parallel),
  ...(stopAfter.trim() !== '' && { stop_after: numberOf(stopAfter) }),
})

const numberOf = (text: string): number => (/^\s*\d+(?:\.\d+)?\s*$/.test(text) ? Number(text) : Number.NaN)

function isWhole(text: string, most: number): boolean {
  const n = numberOf(text)
  return Number.isInteger(n) && n >= 1 && n <= most
}

/** How long an operation takes at least, in seconds: workers begin at this pace. */
export const leastSeconds = (count: number, { per_second: perSecond }: Pace): number =>
  Math.ceil(count / (perSecond ?? 1))
