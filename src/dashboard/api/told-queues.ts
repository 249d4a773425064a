/**
 * @module dashboard/api/told-queues
 * Merges queue totals from `queue.totals` events into the overview (D51). An overview loaded right after such an event
 * may have been computed before it. Until the overview must include the event, the totals of the event are shown.
 */
import type { OverviewBody, QueueTotals } from '../../protocol/index.ts'
import type { FleetEvent } from './feed.ts'
import { COUNTED_WITHIN_MS } from './freshener.ts'

interface Told {
  readonly queue: QueueTotals
  readonly heardAtMs: number
}
/** By automation type. */
export type ToldQueues = Readonly<Record<string, Told>>

/** Adds the totals of `events`; the latest per type wins. */
export function withTold(told: ToldQueues, events: readonly FleetEvent[], heardAtMs: number): ToldQueues {
  const found = events.flatMap(({ name, data: { type, queue } }): [string, Told][] =>
    name === 'queue.totals' && type !== undefined ? [[type, { queue: queue as QueueTotals, heardAtMs }]] : [],
  )
  return found.length === 0 ? told : { ...told, ...Object.fromEntries(found) }
}

/** @param readAtMs When the overview was received, on the same clock as `heardAtMs`. */
export function overviewWith(overview: OverviewBody, readAtMs: number, told: ToldQueues): OverviewBody {
  const newer = Object.entries(told).filter(
    ([type, { heardAtMs }]) => readAtMs < heardAtMs + COUNTED_WITHIN_MS && overview.automations[type]?.queue != null,
  )
  if (newer.length === 0) return overview
  const automations = newer.map(([type, { queue }]) => [type, { ...overview.automations[type], queue }])
  return {
    ...overview,
    automations: { ...overview.automations, ...(Object.fromEntries(automations) as OverviewBody['automations']) },
  }
}
