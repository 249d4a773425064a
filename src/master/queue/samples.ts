/**
 * @module master/queue/samples
 * Samples the counts of each batch automation every 15 s and keeps the newest 240 (an hour) in this process. The totals
 * in a sample come from the store and survive a restart. The samples do not, and each master has its own (D48). While
 * the store is unavailable no samples are taken, which leaves a gap.
 */
import { QUEUE_SAMPLE_EVERY_MS, QUEUE_SAMPLES, toSeconds, type QueueSample } from '../../protocol/index.ts'
import type { Cancel, Clock, Timers } from '../../runtime/index.ts'
import type { Counts } from '../../storage/index.ts'
import { countsBody } from './counts.ts'

export interface SamplesDeps {
  readonly clock: Clock
  readonly timers: Timers
  readonly counts: (types: readonly string[]) => Promise<readonly Counts[]>
  readonly onFailed: (error: unknown) => void
}

export class Samples {
  readonly #deps: SamplesDeps
  readonly #byType: ReadonlyMap<string, QueueSample[]>
  #cancel: Cancel = () => {}
  #running: Promise<void> | null = null

  /** @param types The types that have a queue. */
  constructor(types: readonly string[], deps: SamplesDeps) {
    this.#byType = new Map(types.map((type) => [type, []]))
    this.#deps = deps
  }

  /** Takes the first sample immediately. */
  start(): void {
    if (this.#byType.size === 0) return
    this.#cancel = this.#deps.timers.every(QUEUE_SAMPLE_EVERY_MS, () => this.#begin())
    this.#begin()
  }

  /** Resolves when the current sample has ended. */
  async stop(): Promise<void> {
    this.#cancel()
    await this.#running
  }

  /** @returns the newest `limit` samples with `ts >= since`, oldest first; empty for a type without a queue. */
  read(type: string, since: number, limit: number): readonly QueueSample[] {
    return (this.#byType.get(type) ?? []).filter(({ ts }) => ts >= since).slice(-limit)
  }

  #begin(): void {
    this.#running ??= this.#take()
      .catch(this.#deps.onFailed)
      .finally(() => (this.#running = null)) // A slow store is not read twice at the same time.
  }

  async #take(): Promise<void> {
    const counts = await this.#deps.counts([...this.#byType.keys()])
    const ts = toSeconds(this.#deps.clock.wallMs())
    for (const [at, samples] of [...this.#byType.values()].entries()) {
      const each = counts[at] as Counts // One result per type, in order.
      samples.push({ ts, ...countsBody(each), ...each.totals })
      if (samples.length > QUEUE_SAMPLES) samples.shift()
    }
  }
}
