/**
 * @module worker/run-counters
 * Counts what the runs of a worker did under its applied config, for the reserved metrics (D137).
 *
 *   config applied ──▶ all counters restart at 0
 *   run ended      ──▶ counted if it began under the applied config; otherwise it says nothing about this config
 *
 * A config is identified by its object: each applied config is a new one, and a batch run keeps that of its reserve.
 */
import type { AppliedConfig, EndedRun } from '../automation/index.ts'
import { RESERVED_METRICS, RUN_MS_BUCKETS, RUN_MS_NAMES, runMsBucket } from '../protocol/index.ts'

const NAMES = {
  ok: RESERVED_METRICS.runsOk,
  failed: RESERVED_METRICS.runsFailed,
  released: RESERVED_METRICS.runsReleased,
} as const

export class RunCounters {
  readonly #isBatch: boolean
  readonly #counts = new Map<string, number>()
  readonly #byDuration = new Float64Array(RUN_MS_BUCKETS)
  #config: AppliedConfig | undefined

  /** @param isBatch Whether a run is one task. The runs of a continuous automation are counted only if they fail. */
  constructor(isBatch: boolean) {
    this.#isBatch = isBatch
  }

  /** Restarts all counters for a config that has just been applied. */
  applied(config: AppliedConfig): void {
    this.#config = config
    this.#counts.clear()
    this.#byDuration.fill(0)
  }

  runEnded({ config, outcome, ms }: EndedRun): void {
    if (config !== this.#config) return
    if (!this.#isBatch) {
      if (outcome === 'failed') this.#add(RESERVED_METRICS.slotFailures)
      return
    }
    this.#add(NAMES[outcome])
    if (outcome === 'released') return // It was interrupted, so its duration says nothing.
    const bucket = runMsBucket(ms)
    this.#byDuration[bucket] = (this.#byDuration[bucket] ?? 0) + 1
  }

  /** Counts a slot that could not start. */
  slotFailed(): void {
    this.#add(RESERVED_METRICS.slotFailures)
  }

  /** @returns the counters above 0, by their names in the statistics. */
  snapshot(): Readonly<Record<string, number>> {
    const metrics: Record<string, number> = Object.fromEntries(this.#counts)
    for (const [bucket, count] of this.#byDuration.entries()) if (count > 0) metrics[RUN_MS_NAMES[bucket] ?? ''] = count
    return metrics
  }

  #add(name: string): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1)
  }
}
