/**
 * @module dashboard/worker/drain-left
 * What a draining worker still runs, from its newest statistics, and about how long that takes.
 */
import type { LatencyBody, Stats } from '../../protocol/index.ts'
import { spanText } from '../components/age.ts'
import { plural } from '../components/numbers.ts'

/** One slot that still runs. */
export interface RunningSlot {
  readonly slot: number
  /** null for a continuous automation, and for a worker that does not report it. */
  readonly task: string | null
  /** For how long the task runs, or the slot if there is no task; in seconds. */
  readonly seconds: number
}

/** @returns the slots, those that run for the longest time first. */
export function runningSlots(stats: Stats | null, nowSeconds: number): readonly RunningSlot[] {
  if (stats === null) return []
  const sinceStats = Math.max(0, nowSeconds - stats.ts)
  return stats.per_slot
    .map(({ slot_id: slot, age_seconds: age, task_id: task = null, task_seconds: seconds = age }) => ({
      slot,
      task,
      seconds: seconds + sinceStats,
    }))
    .toSorted((a, b) => b.seconds - a.seconds)
}

/** How long the slots still need if each run takes as long as 95 % of all runs; null if one has taken longer. */
function remainingSeconds(slots: readonly RunningSlot[], p95: number): number | null {
  const left = slots.map(({ seconds }) => p95 - seconds)
  return left.some((each) => each < 0) ? null : Math.max(0, ...left)
}

/** A sentence on how long the drain may last. @param run Run times of the last hour; null if none are known. */
export function estimateText(slots: readonly RunningSlot[], run: LatencyBody | null): string {
  if (slots.length === 0) return ''
  if (run === null) return 'There is no estimate, because no run of this type has ended in the last hour.'
  const usual = `95 % of the runs of this type take at most ${runText(run.p95)}`
  const left = remainingSeconds(slots, run.p95)
  if (left !== null) return `${usual}, so it should end within ${runText(left)}.`
  const slow = slots.filter(({ seconds }) => seconds > run.p95).length
  return `${usual}. ${plural(slow, 'slot')} ${slow === 1 ? 'has' : 'have'} run for longer, so there is no estimate.`
}

const runText = (seconds: number): string => (seconds < 1 ? '1 s' : spanText(Math.ceil(seconds)))
