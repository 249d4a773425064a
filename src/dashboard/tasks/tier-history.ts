/**
 * @module dashboard/tasks/tier-history
 * An hour of a queue as shapes: one stacked area a tier, and rates made of the running totals. Samples come every 15 s;
 * where one is missing for long, or a total fell because another master counts now, there is a gap and never a line.
 */
import type { QueueSample } from '../../protocol/index.ts'

export const TIERS = ['high', 'normal', 'low'] as const
export type Tier = (typeof TIERS)[number]

const GAP_SECONDS = 45

/** Samples without a hole between them. */
export function runsOf(samples: readonly QueueSample[]): readonly (readonly QueueSample[])[] {
  const runs: QueueSample[][] = []
  for (const sample of samples) {
    const last = runs.at(-1)?.at(-1)
    if (last !== undefined && sample.ts - last.ts <= GAP_SECONDS) runs.at(-1)?.push(sample)
    else runs.push([sample])
  }
  return runs
}

export interface Box {
  readonly width: number
  readonly height: number
  readonly fromTs: number
  readonly toTs: number
  readonly most: number
}

/** The points of a polygon for `tier` over one run, the tiers before it below; y grows downwards. */
export function areaPoints(run: readonly QueueSample[], tier: Tier, box: Box): string {
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

/** The largest number waiting at once. */
export const mostWaiting = (samples: readonly QueueSample[]): number =>
  samples.reduce((most, sample) => Math.max(most, waitingOf(sample)), 0)

export interface Rates {
  readonly submitted: number
  readonly acked: number
  readonly nacked: number
  readonly died: number
}

/** A minute's worth of each, over the last `seconds`; null: there is not enough to say. */
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
