/**
 * @module dashboard/history/columns
 * Converts the steps of a history to the columns of charts. Where steps are missing, a row without values interrupts
 * the lines.
 */
import type { FleetHistoryStep, LatencyBody, QueueHistoryStep } from '../../protocol/index.ts'
import type { Column, Panel } from '../charts/columns.ts'

/** Times of the rows, and the panels with one value for each row. */
export interface HistoryColumns {
  readonly ts: readonly number[]
  readonly panels: readonly Panel[]
}

/** A master that takes over samples after at most 20 s, which is no gap. */
const GAP_SECONDS = 45

/** @returns the steps in order; null for a gap. */
function withGaps<S extends { readonly ts: number }>(
  steps: readonly S[],
  stepSeconds: number,
): readonly (readonly [ts: number, step: S | null])[] {
  const longest = Math.max(GAP_SECONDS, 2 * stepSeconds)
  return steps.flatMap((step, at) => {
    const before = steps[at - 1]
    const isAfterGap = before !== undefined && step.ts - before.ts > longest
    return [...(isAfterGap ? [[before.ts + stepSeconds, null] as const] : []), [step.ts, step] as const]
  })
}

/** Counts per minute. */
const perMinute = (count: number | null, seconds: number | null): number | null =>
  count === null || seconds === null ? null : (60 * count) / seconds

type Flow = 'submitted' | 'done' | 'failed' | 'died'
const FLOWS: readonly (readonly [Flow, label: string])[] = [
  ['submitted', 'in'],
  ['done', 'done'],
  ['failed', 'failed'],
  ['died', 'died'],
]
const QUANTILES = ['p50', 'p95', 'p99'] as const satisfies readonly (keyof LatencyBody)[]

/** The panels of one queue. */
export function queueColumns(steps: readonly QueueHistoryStep[], stepSeconds: number): HistoryColumns {
  const rows = withGaps(steps, stepSeconds)
  const column = (of: (step: QueueHistoryStep) => number | null): Column =>
    rows.map(([, step]) => (step === null ? null : of(step)))
  const quantiles = (kind: 'wait' | 'run') =>
    QUANTILES.map((name) => ({ label: name, values: column((step) => step[kind]?.[name] ?? null) }))
  return {
    ts: rows.map(([ts]) => ts),
    panels: [
      { name: 'Tasks a minute', unit: '/min', series: flowSeries(rows, FLOWS) },
      {
        name: 'Waiting tasks',
        unit: '',
        series: (['waiting', 'high', 'normal', 'low'] as const).map((name) => ({
          label: name === 'waiting' ? 'all' : name,
          values: column((step) => step[name]),
        })),
      },
      {
        name: 'Oldest waiting task',
        unit: 'seconds',
        series: [{ label: 'age', values: column((step) => step.oldest_seconds) }],
      },
      { name: 'Wait until the first run', unit: 'seconds', series: quantiles('wait') },
      { name: 'Run time', unit: 'seconds', series: quantiles('run') },
    ],
  }
}

/** The panel of one queue on the overview. */
export function flowColumns(name: string, steps: readonly FleetHistoryStep[], stepSeconds: number): HistoryColumns {
  const rows = withGaps(steps, stepSeconds)
  return {
    ts: rows.map(([ts]) => ts),
    panels: [{ name, unit: '/min', series: flowSeries(rows, FLOWS.slice(0, 3)) }],
  }
}

function flowSeries(
  rows: readonly (readonly [number, Pick<FleetHistoryStep, Flow | 'seconds'> | null])[],
  flows: typeof FLOWS,
): Panel['series'] {
  return flows.map(([flow, label]) => ({
    label,
    values: rows.map(([, step]) => (step === null ? null : perMinute(step[flow], step.seconds))),
  }))
}

/** Types by their tasks in the range, busiest first. */
export function byActivity(automations: Readonly<Record<string, readonly FleetHistoryStep[]>>): readonly string[] {
  const activityOf = (steps: readonly FleetHistoryStep[]): number =>
    steps.reduce((sum, { submitted, done, failed }) => sum + (submitted ?? 0) + (done ?? 0) + (failed ?? 0), 0)
  return Object.entries(automations)
    .map(([type, steps]) => ({ type, activity: activityOf(steps) }))
    .toSorted((a, b) => b.activity - a.activity || (a.type < b.type ? -1 : 1))
    .map(({ type }) => type)
}
