/**
 * @module master/queue/rollup-recorder
 * Adds the numbers of each batch automation to its rollups every 15 s, in one call of the store (D166).
 *
 *   counts and gauges   a sample of the store, by one master: the leader. The counts are running totals of the store,
 *                       so nothing is counted twice or missed, also what a master of an earlier release did
 *   latencies           what this master measured since the last call, by every master
 *
 * While the store is unavailable nothing is added, which leaves a gap. Latencies are added later, unless the outcome of
 * the call is unknown.
 */
import { FleetError, HISTORY_RESOLUTIONS } from '../../protocol/index.ts'
import type { Cancel, Clock, Timers } from '../../runtime/index.ts'
import type { Counts, RollupIncrement, RollupNumbers, Rollups } from '../../storage/index.ts'
import type { Latencies } from './latencies.ts'

const EVERY_MS = HISTORY_RESOLUTIONS[0].stepMs

export interface RollupRecorderDeps {
  readonly timers: Timers
  readonly rollups: Pick<Rollups, 'add'>
  readonly counts: (types: readonly string[]) => Promise<readonly Counts[]>
  readonly latencies: (type: string) => Latencies
  /** Whether this master samples. */
  readonly isSampling: () => boolean
  readonly clock: Clock
  readonly onFailed: (error: unknown) => void
}

export class RollupRecorder {
  readonly #deps: RollupRecorderDeps
  readonly #types: readonly string[]
  #cancel: Cancel = () => {}
  #running: Promise<void> | null = null

  /** @param types The types that have a queue. */
  constructor(types: readonly string[], deps: RollupRecorderDeps) {
    this.#types = types
    this.#deps = deps
  }

  /** Takes the first sample immediately. */
  start(): void {
    if (this.#types.length === 0) return
    this.#cancel = this.#deps.timers.every(EVERY_MS, () => this.#begin())
    this.#begin()
  }

  /** Adds what was measured since the last call, and resolves when that has ended. */
  async stop(): Promise<void> {
    this.#cancel()
    await this.#running
    await this.#add(this.#types.map(() => undefined)).catch(this.#deps.onFailed)
  }

  #begin(): void {
    this.#running ??= this.#take()
      .catch(this.#deps.onFailed)
      .finally(() => (this.#running = null)) // A slow store is not called twice at the same time.
  }

  async #take(): Promise<void> {
    const { counts, isSampling } = this.#deps
    await this.#add(isSampling() ? await counts(this.#types) : this.#types.map(() => undefined))
  }

  /** @param samples One per type, undefined for none. */
  async #add(samples: readonly (Counts | undefined)[]): Promise<void> {
    const { clock, latencies, rollups } = this.#deps
    const increments = this.#types.flatMap((type, at): readonly RollupIncrement[] => {
      const sample = samples[at]
      const sums = latencies(type).take()
      if (sample === undefined && Object.keys(sums).length === 0) return []
      return [{ type, peaks: sample === undefined ? {} : peaksOf(sample, clock.wallMs()), sums }]
    })
    if (increments.length === 0) return
    try {
      await rollups.add(increments)
    } catch (error) {
      const isUnknown = error instanceof FleetError && error.outcome === 'unknown'
      if (!isUnknown) for (const { type, sums } of increments) latencies(type).putBack(sums)
      throw error
    }
  }
}

/** The names of peaks. The running totals only grow, so the largest value of a step is its last. */
export const PEAKS = {
  /** 1 if there was a sample. */
  sampled: 'n',
  submitted: 'su',
  acked: 'ac',
  nacked: 'na',
  died: 'di',
  cancelled: 'ca',
  high: 'hi',
  normal: 'no',
  low: 'lo',
  waiting: 'wa',
  inFlight: 'fl',
  scheduled: 'sc',
  dead: 'de',
  /** Age of the oldest waiting task, ms. */
  oldest: 'ol',
} as const

function peaksOf({ tiers, inFlight, scheduled, dead, oldestSubmittedAtMs, totals }: Counts, nowMs: number) {
  const [high, normal, low] = tiers
  const values: Readonly<Record<keyof typeof PEAKS, number>> = {
    sampled: 1,
    submitted: totals.submitted,
    acked: totals.acked,
    nacked: totals.nacked,
    died: totals.died,
    cancelled: totals.cancelled ?? 0,
    high,
    normal,
    low,
    waiting: high + normal + low,
    inFlight,
    scheduled,
    dead,
    oldest: oldestSubmittedAtMs === null ? 0 : Math.max(0, Math.round(nowMs - oldestSubmittedAtMs)),
  }
  const peaks: Record<string, number> = {}
  for (const [name, key] of Object.entries(PEAKS)) peaks[key] = values[name as keyof typeof PEAKS]
  return peaks as RollupNumbers
}
