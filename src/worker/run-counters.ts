/**
 * @module worker/run-counters
 * Counts what the runs of a worker did under its applied config, for the reserved metrics (D137).
 *
 *   config applied ──▶ all counters restart at 0
 *   run ended      ──▶ counted if it began under the applied config; otherwise it says nothing about this config
 *
 * A config is identified by its object: each applied config is a new one, and a batch run keeps that of its reserve.
 *
 * Two errors count as the same if they differ only in their numbers: `timeout after 31 ms`, `timeout after 29 ms`.
 */
import type { AppliedConfig, EndedRun } from '../automation/index.ts'
import { RESERVED_METRICS, RUN_MS_BUCKETS, RUN_MS_NAMES, runMsBucket } from '../protocol/index.ts'

const NAMES = {
  ok: RESERVED_METRICS.runsOk,
  failed: RESERVED_METRICS.runsFailed,
  released: RESERVED_METRICS.runsReleased,
} as const

const FAILURES: ReadonlySet<string> = new Set([RESERVED_METRICS.runsFailed, RESERVED_METRICS.slotFailures])
/** Different errors that are counted; the one that occurred longest ago is dropped. */
const MAX_ERRORS = 16
const MAX_ERROR_CHARS = 256
const withoutNumbers = (error: string): string => error.slice(0, MAX_ERROR_CHARS).replaceAll(/\d+/g, '#')

export class RunCounters {
  readonly #isBatch: boolean
  readonly #onFirstFailure: () => void
  readonly #counts = new Map<string, number>()
  readonly #byDuration = new Float64Array(RUN_MS_BUCKETS)
  /** Failed runs by error, the newest error last. */
  readonly #byError = new Map<string, number>()
  #config: AppliedConfig | undefined

  /**
   * @param isBatch Whether a run is one task. The runs of a continuous automation are counted only if they fail.
   * @param onFirstFailure Called for the first failed run, and for the first slot that cannot start, under a config.
   */
  constructor(isBatch: boolean, onFirstFailure: () => void = () => {}) {
    this.#isBatch = isBatch
    this.#onFirstFailure = onFirstFailure
  }

  /** Restarts all counters for a config that has just been applied. */
  applied(config: AppliedConfig): void {
    this.#config = config
    this.#counts.clear()
    this.#byDuration.fill(0)
    this.#byError.clear()
  }

  runEnded({ config, outcome, ms, error }: EndedRun): void {
    if (config !== this.#config) return
    if (!this.#isBatch) {
      if (outcome === 'failed') this.#add(RESERVED_METRICS.slotFailures)
      return
    }
    this.#add(NAMES[outcome])
    if (error !== undefined) this.#addError(withoutNumbers(error))
    if (outcome === 'released') return // It was interrupted, so its duration says nothing.
    const bucket = runMsBucket(ms)
    this.#byDuration[bucket] = (this.#byDuration[bucket] ?? 0) + 1
  }

  /** Counts a failed run after which its task was dead. */
  taskDied(): void {
    this.#add(RESERVED_METRICS.runsDied)
  }

  /** Counts a slot that could not start. */
  slotFailed(): void {
    this.#add(RESERVED_METRICS.slotFailures)
  }

  /** @returns the counters above 0, by their names in the statistics. */
  snapshot(): Readonly<Record<string, number>> {
    const metrics: Record<string, number> = Object.fromEntries(this.#counts)
    const lastError = [...this.#byError.values()].at(-1)
    if (lastError !== undefined) metrics[RESERVED_METRICS.lastErrorRuns] = lastError
    for (const [bucket, count] of this.#byDuration.entries()) if (count > 0) metrics[RUN_MS_NAMES[bucket] ?? ''] = count
    return metrics
  }

  #addError(error: string): void {
    const before = this.#byError.get(error) ?? 0
    this.#byError.delete(error)
    this.#byError.set(error, before + 1)
    const [oldest] = this.#byError.keys()
    if (this.#byError.size > MAX_ERRORS && oldest !== undefined) this.#byError.delete(oldest)
  }

  #add(name: string): void {
    const before = this.#counts.get(name) ?? 0
    this.#counts.set(name, before + 1)
    if (before === 0 && FAILURES.has(name)) this.#onFirstFailure()
  }
}
