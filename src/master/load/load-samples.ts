/**
 * @module master/load/load-samples
 * Samples the counts of each batch automation every 5 s and keeps the newest 24 in this process. Rates are differences
 * of the totals, which come from the store; so masters whose samples are of the same time compute the same rates.
 */
import { LOAD_DUE_WITHIN_MS, LOAD_SAMPLE_EVERY_MS, LOAD_SAMPLES } from '../../protocol/index.ts'
import type { Cancel, Clock, Timers } from '../../runtime/index.ts'
import type { Backend, Counts } from '../../storage/index.ts'

/** The counts of one type at one time. */
export interface LoadSample {
  /** Monotonic. */
  readonly atMs: number
  readonly wallMs: number
  readonly counts: Counts
  /** Number of scheduled tasks that are due within 30 s. */
  readonly due: number
}

export interface LoadSamplesDeps {
  readonly clock: Clock
  readonly timers: Timers
  readonly tasks: Pick<Backend['tasks'], 'counts' | 'countDue'>
  readonly onFailed: (error: unknown) => void
}

export class LoadSamples {
  readonly #deps: LoadSamplesDeps
  readonly #byType: ReadonlyMap<string, LoadSample[]>
  #cancel: Cancel = () => {}
  #running: Promise<void> | null = null

  /** @param types The types that have a queue. */
  constructor(types: readonly string[], deps: LoadSamplesDeps) {
    this.#byType = new Map(types.map((type) => [type, []]))
    this.#deps = deps
  }

  /** Takes the first sample immediately. */
  start(): void {
    if (this.#byType.size === 0) return
    this.#cancel = this.#deps.timers.every(LOAD_SAMPLE_EVERY_MS, () => this.#begin())
    this.#begin()
  }

  /** Resolves when the current sample has ended. */
  async stop(): Promise<void> {
    this.#cancel()
    await this.#running
  }

  /** @returns the samples of a type, oldest first; empty before the first one. */
  of(type: string): readonly LoadSample[] {
    return this.#byType.get(type) ?? []
  }

  #begin(): void {
    this.#running ??= this.#take()
      .catch(this.#deps.onFailed)
      .finally(() => (this.#running = null)) // A slow store is not read twice at the same time.
  }

  async #take(): Promise<void> {
    const { clock, tasks } = this.#deps
    const types = [...this.#byType.keys()]
    const counts = await tasks.counts(types)
    const atMs = clock.monotonicMs()
    const wallMs = clock.wallMs()
    const due = await Promise.all(types.map((type, at) => this.#dueOf(type, counts[at])))
    for (const [at, samples] of [...this.#byType.values()].entries()) {
      const each = counts[at] as Counts // One result per type, in order.
      if (hasLostTotals(samples.at(-1), each)) samples.length = 0
      samples.push({ atMs, wallMs, counts: each, due: Math.min(due[at] ?? 0, each.scheduled) })
      if (samples.length > LOAD_SAMPLES) samples.shift()
    }
  }

  async #dueOf(type: string, counts: Counts | undefined): Promise<number> {
    return counts?.scheduled === 0 ? 0 : this.#deps.tasks.countDue(type, LOAD_DUE_WITHIN_MS)
  }
}

/** Whether the store lost changes, so that rates would be wrong. */
function hasLostTotals(last: LoadSample | undefined, { totals }: Counts): boolean {
  if (last === undefined) return false
  const before = last.counts.totals
  return totals.submitted < before.submitted || totals.acked < before.acked || totals.nacked < before.nacked
}
