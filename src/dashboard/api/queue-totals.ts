/**
 * @module dashboard/api/queue-totals
 * Merges queue totals from `queue.totals` events into the overview (D51). An overview loaded right after such an event
 * may have been computed before it. Until the overview must include the event, the totals of the event are shown.
 */
import type { OverviewBody, QueueTotals } from '../../protocol/index.ts'
import type { FleetEvent } from './feed.ts'
import { COUNTED_WITHIN_MS } from './query-invalidator.ts'

interface ReceivedTotals {
  readonly queue: QueueTotals
  readonly receivedAtMs: number
}
/** By automation type. */
export type LatestQueueTotals = Readonly<Record<string, ReceivedTotals>>

/** Adds the totals of `events`; the latest per type wins. */
export function withTotals(
  totals: LatestQueueTotals,
  events: readonly FleetEvent[],
  receivedAtMs: number,
): LatestQueueTotals {
  const found = events.flatMap(({ name, data: { type, queue } }): [string, ReceivedTotals][] =>
    name === 'queue.totals' && type !== undefined ? [[type, { queue: queue as QueueTotals, receivedAtMs }]] : [],
  )
  return found.length === 0 ? totals : { ...totals, ...Object.fromEntries(found) }
}

/** @param readAtMs When the overview was received, on the same clock as `receivedAtMs`. */
export function overviewWith(overview: OverviewBody, readAtMs: number, totals: LatestQueueTotals): OverviewBody {
  const newer = Object.entries(totals).filter(
    ([type, { receivedAtMs }]) =>
      readAtMs < receivedAtMs + COUNTED_WITHIN_MS && overview.automations[type]?.queue != null,
  )
  if (newer.length === 0) return overview
  const automations = newer.map(([type, { queue }]) => [type, { ...overview.automations[type], queue }])
  return {
    ...overview,
    automations: { ...overview.automations, ...(Object.fromEntries(automations) as OverviewBody['automations']) },
  }
}
