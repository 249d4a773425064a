/**
 * @module dashboard/tasks/tier-history
 * Computes the chart of a queue's last hour: one stacked area per tier, and rates from the running totals. Samples are
 * 15 s apart. A gap of more than 45 s splits the areas. If a total decreased because another master counts now, there
 * is no rate.
 */
import type { QueueSample } from '../../protocol/index.ts'

export const TIERS = ['high', 'normal', 'low'] as const
export type Tier = (typeof TIERS)[number]

const GAP_SECONDS = 45

/** Splits the samples at gaps. */
export function runsOf(samples: readonly QueueSample[]): readonly (readonly QueueSample[])[] {
  const runs: QueueSample[][] = []
  for (const sample of samples) {
    const last = runs.at(-1)?.at(-1)
    if (last !== undefined && sample.ts - last.ts <= GAP_SECONDS) runs.at(-1)?.push(sample)
    else runs.push([sample])
  }
  return runs
}

export interface PlotArea {
  readonly width: number
  readonly height: number
  readonly fromTs: number
  readonly toTs: number
  readonly most: number
}

/** The polygon points of `tier` for one run, stacked on the tiers before it. The y axis points down. */
export function areaPoints(run: readonly QueueSample[], tier: Tier, box: PlotArea): string {
  const x = (ts: number): number => round(((ts - box.fromTs) / Math.max(1, box.toTs - box.fromTs)) * box.width)
  const y = (n: number): number => round(box.height - (n / Math.max(1, box.most)) * box.height)
  const upTo = TIERS.indexOf(tier)
  const sum = (sample: QueueSample, count: number): number =>
    TIERS.slice(0, count).reduce((total, each) => total + sample[each], 0)
  const upper = run.map((sample) => `${x(sample.ts)},${y(sum(sample, upTo + 1))}`)
  const lower = run.map((sample) => `${x(sample.ts)},${y(sum(sample, upTo))}`)
  return [...upper, ...lower.toReversed()].join(' ')
}

const round = (n: number): number => Math.round(n * 10) / 10

export const waitingOf = ({ high, normal, low }: Pick<QueueSample, Tier>): number => high + normal + low

/** The largest number of tasks that were waiting in one sample. */
export const mostWaiting = (samples: readonly QueueSample[]): number =>
  samples.reduce((most, sample) => Math.max(most, waitingOf(sample)), 0)

export interface Rates {
  readonly submitted: number
  readonly acked: number
  readonly nacked: number
  readonly died: number
}

/** Rates per minute over the last `seconds`; null without enough samples. */
export function ratesOf(samples: readonly QueueSample[], seconds = 60): Rates | null {
  const run = runsOf(samples).at(-1) ?? []
  const last = run.at(-1)
  if (last === undefined) return null
  const first = run.find(({ ts }) => ts >= last.ts - seconds)
  if (first === undefined || first.ts >= last.ts) return null
  const perMinute = (of: keyof Rates): number => ((last[of] - first[of]) / (last.ts - first.ts)) * 60
  const rates: Rates = {
    submitted: perMinute('submitted'),
    acked: perMinute('acked'),
    nacked: perMinute('nacked'),
    died: perMinute('died'),
  }
  return Object.values(rates).some((rate) => rate < 0) ? null : rates
}

const FIELDS = ['ts', ...TIERS, 'in_flight', 'scheduled', 'dead', 'submitted', 'acked', 'nacked', 'died'] as const

export const toCsv = (samples: readonly QueueSample[]): string =>
  [FIELDS.join(','), ...samples.map((sample) => FIELDS.map((field) => sample[field]).join(','))]
    .map((line) => `${line}\n`)
    .join('')
