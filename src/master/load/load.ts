/**
 * @module master/load/load
 * Computes how many slots a type needs so that its tasks wait no longer than the target (D139). A pure function.
 *
 *   λ  arrivals per second      S  mean seconds of a run = mean number in flight ÷ runs that end per second (Little)
 *   slots  = (λ·S + (pending + due)·S ÷ target wait) ÷ 0.85, and at least the number in flight
 *
 * Example: 21 tasks a second that take 1.9 s, 815 waiting, 30 s: (39.9 + 51.6) ÷ 0.85 = 108 slots.
 *
 * A master that has sampled for less than a minute knows no rates, and a wrong one could end workers that are needed.
 * Until then it advises at least the present slots. The same holds while tasks wait and no run has ended.
 */
import { LOAD_WINDOW_MS, toSeconds, type LoadBody } from '../../protocol/index.ts'
import type { LoadSample } from './load-samples.ts'

/** The workers of a type that take tasks. */
export interface Workforce {
  readonly slots: number
  readonly workers: number
}

export interface LoadOptions {
  readonly targetWaitSeconds: number
  /** null: the mean of the workers that take tasks. */
  readonly slotsPerWorker: number | null
}

/** Share of the time that a slot is busy at the target. */
const UTILIZATION = 0.85
const ROUNDING = 1_000

/** What happened between the first and the last sample of a window. */
interface Rates {
  readonly seconds: number
  readonly arrivals: number
  readonly completions: number
  readonly meanInFlight: number
}

/** @param samples At least one, oldest first. */
export function loadOf(
  samples: readonly [LoadSample, ...LoadSample[]] | readonly LoadSample[],
  { slots, workers }: Workforce,
  { targetWaitSeconds, slotsPerWorker }: LoadOptions,
): LoadBody {
  const newest = samples.at(-1)
  if (newest === undefined) throw new TypeError('there is no sample')
  const { counts, due } = newest
  const pending = counts.tiers.reduce((sum, tier) => sum + tier, 0)
  const backlog = pending + counts.inFlight + due
  const rates = ratesOf(samples)
  const runSeconds = runSecondsOf(rates, samples)
  const atLeast = Math.max(counts.inFlight, backlog > 0 ? 1 : 0)
  const wanted = (): number => {
    if (rates === null || (runSeconds === null && backlog + rates.arrivals > 0)) return Math.max(slots, atLeast)
    const seconds = runSeconds ?? 0
    const busy = rates.arrivals * seconds + ((pending + due) * seconds) / targetWaitSeconds
    return Math.max(atLeast, rates.arrivals > 0 ? 1 : 0, Math.ceil(rounded(busy / UTILIZATION)))
  }
  const wantedSlots = wanted()
  return {
    ts: toSeconds(newest.wallMs),
    window_seconds: rounded(rates?.seconds ?? secondsOf(samples)),
    pending,
    in_flight: counts.inFlight,
    scheduled_due: due,
    backlog,
    oldest_wait_seconds: rounded(
      counts.oldestSubmittedAtMs === null ? 0 : Math.max(0, newest.wallMs - counts.oldestSubmittedAtMs) / 1_000,
    ),
    arrivals_per_second: rates && rounded(rates.arrivals),
    completions_per_second: rates && rounded(rates.completions),
    mean_run_seconds: runSeconds === null ? null : rounded(runSeconds),
    slots,
    workers,
    wanted_slots: wantedSlots,
    wanted_workers: workersFor(wantedSlots, slotsPerWorker ?? (workers === 0 ? null : slots / workers)),
  }
}

/** Without a known number of slots it asks for one worker, whose slots are known afterwards. */
function workersFor(slots: number, perWorker: number | null): number {
  if (slots === 0) return 0
  return perWorker === null || perWorker === 0 ? 1 : Math.ceil(rounded(slots / perWorker))
}

const rounded = (value: number): number => Math.round(value * ROUNDING) / ROUNDING

const secondsOf = (samples: readonly LoadSample[]): number =>
  ((samples.at(-1)?.atMs ?? 0) - (samples[0]?.atMs ?? 0)) / 1_000

/** @returns null if the samples cover less than the window. */
function ratesOf(samples: readonly LoadSample[]): Rates | null {
  const newest = samples.at(-1)
  if (newest === undefined) return null
  const from = samples.findLastIndex(({ atMs }) => newest.atMs - atMs >= LOAD_WINDOW_MS)
  return from === -1 ? null : ratesBetween(samples.slice(from))
}

function ratesBetween(window: readonly LoadSample[]): Rates | null {
  const [first, last] = [window[0]?.counts, window.at(-1)?.counts]
  const seconds = secondsOf(window)
  if (first === undefined || last === undefined || seconds <= 0) return null
  const ended = ({ acked, nacked }: LoadSample['counts']['totals']): number => acked + nacked
  return {
    seconds,
    arrivals: (last.totals.submitted - first.totals.submitted) / seconds,
    completions: (ended(last.totals) - ended(first.totals)) / seconds,
    meanInFlight: window.reduce((sum, { counts }) => sum + counts.inFlight, 0) / window.length,
  }
}

/** The mean time of a run in the window, otherwise in all samples; null if no run ended. */
function runSecondsOf(rates: Rates | null, samples: readonly LoadSample[]): number | null {
  if (rates === null) return null
  const known = [rates, ratesBetween(samples)].find((each) => each !== null && each.completions > 0)
  return known ? known.meanInFlight / known.completions : null
}
