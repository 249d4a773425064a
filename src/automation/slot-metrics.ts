/**
 * @module automation/slot-metrics
 * Aggregates the metrics that plugins record: counters as the sum over all slots of this process, including ended ones;
 * gauges with their last value; histograms over all values since the process started.
 * @see D55
 */
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'
import { MAX_METRIC_NAMES, MAX_NAME_CHARS, NAME_PATTERN, RESERVED_PREFIX } from '../protocol/index.ts'
import type { Metrics, SlotLog } from './context.ts'

type Kind = 'counter' | 'gauge' | 'histogram'
interface Counter {
  readonly add: (n?: number) => void
}

/**
 * Histograms count integers from 1: values are stored in thousandths plus 1, so that 0 is valid. Accurate to three
 * digits.
 */
const SCALE = 1_000
const HIGHEST = Number.MAX_SAFE_INTEGER
const NAME = new RegExp(NAME_PATTERN)

export class SlotMetrics {
  readonly #log: SlotLog
  readonly #counters = new Map<string, number>()
  readonly #gauges = new Map<string, number>()
  readonly #histograms = new Map<string, RecordableHistogram>()
  readonly #slots = new Map<number, Map<string, number>>()
  readonly #logged = new Set<string>()

  constructor(log: SlotLog) {
    this.#log = log
  }

  /**
   * Creates the metrics of one slot. Its counters are also available through {@link countersOf}.
   * @param slotId The slot; calling this again continues its counters.
   */
  of(slotId: number): Metrics {
    const own = this.#slots.get(slotId) ?? new Map<string, number>()
    this.#slots.set(slotId, own)
    return {
      counter: (name) => this.#counter(name, own),
      gauge: (name) => ({
        set: (value) =>
          void (this.#accepts('gauge', name, this.#gauges, value, -Infinity) && this.#gauges.set(name, value)),
      }),
      histogram: (name) => ({
        record: (value) =>
          void (this.#accepts('histogram', name, this.#histograms, value, 0) && this.#record(name, value)),
      }),
    }
  }

  /** @returns the counters of one slot, by name without prefix; empty for an unknown slot. */
  countersOf(slotId: number): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#slots.get(slotId) ?? [])
  }

  /** Removes the counters of an ended slot. The sums keep its values. */
  forget(slotId: number): void {
    this.#slots.delete(slotId)
  }

  /** @returns `counter.<name>`, `gauge.<name>` and `histogram.<name>.p50|p95|p99|count`. */
  snapshot(): Readonly<Record<string, number>> {
    return Object.fromEntries([
      ...[...this.#counters].map(([name, value]) => [`counter.${name}`, value] as const),
      ...[...this.#gauges].map(([name, value]) => [`gauge.${name}`, value] as const),
      ...[...this.#histograms].flatMap(([name, histogram]) => [
        ...[50, 95, 99].map((p) => [`histogram.${name}.p${p}`, (histogram.percentile(p) - 1) / SCALE] as const),
        [`histogram.${name}.count`, histogram.count] as const,
      ]),
    ])
  }

  #counter(name: string, own: Map<string, number>): Counter {
    return {
      add: (n = 1) => {
        if (!this.#accepts('counter', name, this.#counters, n, 0)) return
        this.#counters.set(name, (this.#counters.get(name) ?? 0) + n)
        own.set(name, (own.get(name) ?? 0) + n)
      },
    }
  }

  #record(name: string, value: number): void {
    const histogram = this.#histograms.get(name) ?? createHistogram()
    this.#histograms.set(name, histogram)
    histogram.record(Math.min(Math.round(value * SCALE) + 1, HIGHEST))
  }

  /** An invalid metric must not fail a task: it is dropped, and logged once. */
  #accepts(kind: Kind, name: string, known: ReadonlyMap<string, unknown>, value: number, lowest: number): boolean {
    if (!Number.isFinite(value) || value < lowest)
      return this.#refuse(
        `${kind} ${name}`,
        `a value of the ${kind} "${name}" is dropped: ${String(value)} ` +
          `is no finite number${lowest === 0 ? ' of 0 or more' : ''}`,
      )
    if (known.has(name)) return true
    if (typeof name !== 'string' || name.length > MAX_NAME_CHARS || !NAME.test(name) || !name.isWellFormed())
      return this.#refuse(
        'name',
        `a ${kind} is dropped: its name must be 1 to ${MAX_NAME_CHARS} characters without control characters`,
      )
    if (name.startsWith(RESERVED_PREFIX))
      return this.#refuse(
        'reserved',
        `the ${kind} "${name}" is dropped: names that begin with "${RESERVED_PREFIX}" are reserved for the worker; ` +
          'choose another name',
      )
    if (this.#counters.size + this.#gauges.size + this.#histograms.size < MAX_METRIC_NAMES) return true
    return this.#refuse(
      'full',
      `the ${kind} "${name}" is dropped, as every further name: a worker keeps ${MAX_METRIC_NAMES} metrics`,
    )
  }

  /** Bounded: a name is a key only after it was accepted; all rejected names share one key. */
  #refuse(key: string, message: string): false {
    if (this.#logged.has(key) || this.#logged.size > 3 * MAX_METRIC_NAMES) return false
    this.#logged.add(key)
    this.#log.warn(message)
    return false
  }
}
