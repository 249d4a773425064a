/**
 * @module master/queue/samples
 * How the queues went: every 15 s the counts of each batch automation, the newest 240 (an hour) kept in this process.
 * The totals in them are the store's and outlive the master; the samples do not, and of several masters each has its
 * own (D48). While the store is away there are none: a gap, which is the truth.
 */
import { QUEUE_SAMPLE_EVERY_MS, QUEUE_SAMPLES, toSeconds, type QueueSample } from '../../protocol/index.ts'
import type { Cancel, Clock, Timers } from '../../runtime/index.ts'
import type { Counts } from '../../storage/index.ts'
import { countsBody } from './counts.ts'

export interface SamplesPorts {
  readonly clock: Clock
  readonly timers: Timers
  readonly counts: (types: readonly string[]) => Promise<readonly Counts[]>
  readonly onFailed: (error: unknown) => void
}

export class Samples {
  readonly #ports: SamplesPorts
  readonly #byType: ReadonlyMap<string, QueueSample[]>
  #cancel: Cancel = () => {}
  #running: Promise<void> | null = null

  /** @param types those that have a queue. */
  constructor(types: readonly string[], ports: SamplesPorts) {
    this.#byType = new Map(types.map((type) => [type, []]))
    this.#ports = ports
  }

  /** The first sample is taken at once. */
  start(): void {
    if (this.#byType.size === 0) return
    this.#cancel = this.#ports.timers.every(QUEUE_SAMPLE_EVERY_MS, () => this.#begin())
    this.#begin()
  }

  /** Resolves when the sample under way has ended. */
  async stop(): Promise<void> {
    this.#cancel()
    await this.#running
  }

  /** Oldest first; the newest `limit` of those with `ts >= since`. None of a type without a queue. */
  read(type: string, since: number, limit: number): readonly QueueSample[] {
    return (this.#byType.get(type) ?? []).filter(({ ts }) => ts >= since).slice(-limit)
  }

  #begin(): void {
    this.#running ??= this.#take()
      .catch(this.#ports.onFailed)
      .finally(() => (this.#running = null)) // A store that is slow is not asked twice.
  }

  async #take(): Promise<void> {
    const counts = await this.#ports.counts([...this.#byType.keys()])
    const ts = toSeconds(this.#ports.clock.wallMs())
    for (const [at, samples] of [...this.#byType.values()].entries()) {
      const each = counts[at] as Counts // One answer per type, in order.
      samples.push({ ts, ...countsBody(each), ...each.totals })
      if (samples.length > QUEUE_SAMPLES) samples.shift()
    }
  }
}
