/**
 * @module dashboard/history/newer-steps
 * Reads of a shown history only what is new, and appends it. Pure functions.
 *
 *   known: 1 2 3 4 5      read from 3: 3 4 5 6      shown: 2 3 4 5 6, of which 3 is the known one
 *
 * The newest minute is read again, because its steps may have changed. The first step of a response is not taken: its
 * counts begin at the last sample before it, which the master may not have read.
 */
import type { FleetHistoryBody, QueueHistoryBody } from '../../protocol/index.ts'

const AGAIN_SECONDS = 60

interface Step {
  readonly ts: number
  readonly waiting: number | null
}
interface Range {
  readonly from: number
  readonly to: number
  readonly step: number
}

/**
 * @param lists The steps of each queue, oldest first.
 * @returns where to read from, in unix seconds; null if all has to be read: nothing is known, or a queue has no sample
 *   there, so that the counts after it begin earlier.
 */
export function newerFrom({ step }: Range, lists: readonly (readonly Step[])[]): number | null {
  const known = lists.filter((steps) => steps.length > 0)
  if (known.length === 0) return null
  const last = Math.max(...known.map((steps) => steps.at(-1)?.ts ?? 0))
  const from = last - Math.max(1, Math.ceil(AGAIN_SECONDS / step)) * step
  const isSampled = ({ ts, waiting }: Step): boolean => ts === from && waiting !== null
  return known.every((steps) => steps.some(isSampled)) ? from : null
}

/** @param newer From {@link newerFrom}. */
function appended<S extends Step>(known: readonly S[], newer: readonly S[], from: number, firstTs: number): S[] {
  const kept = known.filter(({ ts }) => ts <= from && ts >= firstTs)
  return [...kept, ...newer.filter(({ ts }) => (kept.length === 0 ? ts >= from : ts > from))]
}

/** The range of the known history, ending where the newer one does. */
const moved = (known: Range, newer: Range): Range => ({
  from: newer.to - (known.to - known.from),
  to: newer.to,
  step: known.step,
})

export function withNewerQueue(known: QueueHistoryBody, newer: QueueHistoryBody): QueueHistoryBody {
  const range = moved(known, newer)
  return { ...range, steps: appended(known.steps, newer.steps, newer.from, range.from) }
}

export function withNewerFleet(known: FleetHistoryBody, newer: FleetHistoryBody): FleetHistoryBody {
  const range = moved(known, newer)
  const automations = Object.entries(newer.automations).map(([type, steps]) => [
    type,
    appended(known.automations[type] ?? [], steps, newer.from, range.from),
  ])
  return { ...range, automations: Object.fromEntries(automations) as FleetHistoryBody['automations'] }
}
