/**
 * @module dashboard/tasks/needed-slots
 * Returns how many slots a queue needs. Without the mean run time the master advises the present slots (D139), which is
 * no measurement, so the need is unknown.
 */
import type { LoadBody } from '../../protocol/index.ts'
import { countText } from '../components/numbers.ts'

export type NeededSlots =
  { readonly kind: 'known'; readonly slots: number } | { readonly kind: 'unknown'; readonly why: string }

export function neededOf(load: LoadBody): NeededSlots {
  const {
    arrivals_per_second: arrivals,
    backlog,
    mean_run_seconds: run,
    wanted_slots: slots,
    window_seconds: window,
  } = load
  if (arrivals === null)
    return { kind: 'unknown', why: 'Needed slots: unknown until the master has counted for a minute.' }
  if (run !== null || backlog + arrivals === 0) return { kind: 'known', slots }
  return {
    kind: 'unknown',
    why: `Needed slots: unknown, because no run has ended in the last ${countText(window)} s.`,
  }
}
