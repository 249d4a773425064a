/**
 * @module master/control/counter-frames
 * Reads the counters that a tally adds up (D138) from the metrics of a `stats` frame, and subtracts two frames.
 *
 * Reserved counters restart at 0 with each config and each process, those of plugins with each process. Example: a
 * worker reports 7 runs under generation 4, then 2 under generation 5: 2 are new. Metrics of a hostile worker are
 * bounded: in the number of names, in their length, and in the values.
 *
 * Successive frames of a worker mostly have the same names. They share a layout, so that a frame is a row of numbers:
 * with a map for each frame, 10,000 workers with 52 counters took 1.7 times the time and twice the memory.
 */
import {
  isPluginCounter,
  MAX_NAME_CHARS,
  MAX_TALLY_COUNTERS,
  RESERVED_METRICS,
  TALLIED_METRICS,
  TALLY_NAMES,
  type Stats,
} from '../../protocol/index.ts'

type Metrics = Stats['metrics']

/** The names of the metrics of a frame, and which of them are counters of a tally. */
interface Layout {
  /** All metrics in their order; empty if there are too many to keep. */
  readonly keys: readonly string[]
  /** The index in `counters` of each key; -1 for a metric that is none. */
  readonly slots: Int16Array
  /** The metrics that a tally adds up. */
  readonly counters: readonly Counter[]
}
interface Counter {
  readonly metric: string
  /** The name in a tally. */
  readonly name: string
  readonly isPlugin: boolean
}

/** The counters of one frame. */
export interface CounterFrame {
  /** The config generation that the reserved counters belong to. */
  readonly gen: number
  /** When it arrived; monotonic. */
  readonly atMs: number
  readonly layout: Layout
  /** By the index of the counter; 0 for a value that no counter has. */
  readonly values: Float64Array
}

/** Longest time between two frames that counts as time under the revision. */
const MAX_GAP_MS = 60_000
/** A frame with more metrics is read anew each time. */
const MAX_KEPT_KEYS = 512
const PREFIX = 'counter.'
const RESERVED: ReadonlyMap<string, Counter> = new Map(
  [...TALLIED_METRICS].map(([metric, name]) => [metric, { metric, name, isPlugin: false }]),
)
const EMPTY: Layout = { keys: [], slots: new Int16Array(0), counters: [] }
const isCount = (value: unknown): value is number =>
  typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER

/** What a process has counted that has not sent a frame yet. */
export const NOTHING_COUNTED: CounterFrame = { gen: -1, atMs: 0, layout: EMPTY, values: new Float64Array(0) }

/**
 * @param last An earlier frame of the worker.
 * @returns null if the worker does not report the generation of its config.
 */
export function counterFrame(metrics: Metrics, atMs: number, last: CounterFrame | null = null): CounterFrame | null {
  const gen = metrics[RESERVED_METRICS.configGen]
  if (!isCount(gen)) return null
  const values = last === null ? null : valuesIn(metrics, last.layout)
  if (last !== null && values !== null) return { gen, atMs, layout: last.layout, values }
  const layout = layoutOf(metrics)
  return { gen, atMs, layout, values: Float64Array.from(layout.counters, ({ metric }) => countOf(metrics[metric])) }
}

const countOf = (value: unknown): number => (isCount(value) ? value : 0)

/** @returns null if the metrics have another layout. */
function valuesIn(metrics: Metrics, { keys, slots, counters }: Layout): Float64Array | null {
  const values = new Float64Array(counters.length)
  let at = 0
  for (const key in metrics) {
    if (key !== keys[at]) return null
    const slot = slots[at] ?? -1
    if (slot >= 0) values[slot] = countOf(metrics[key])
    at += 1
  }
  return at === keys.length ? values : null
}

function layoutOf(metrics: Metrics): Layout {
  const keys = Object.keys(metrics)
  const slots = new Int16Array(Math.min(keys.length, MAX_KEPT_KEYS)).fill(-1)
  const counters: Counter[] = []
  let plugins = 0
  for (const [at, metric] of keys.entries()) {
    if (!metric.startsWith(PREFIX)) continue
    const reserved = RESERVED.get(metric)
    if (reserved === undefined) {
      if (plugins >= MAX_TALLY_COUNTERS || !isStorableCounter(metric)) continue
      plugins += 1
    }
    slots[at] = counters.length
    counters.push(reserved ?? { metric, name: metric, isPlugin: true })
  }
  return areKept(keys) ? { keys, slots, counters } : { ...EMPTY, counters }
}

const areKept = (keys: readonly string[]): boolean =>
  keys.length <= MAX_KEPT_KEYS && keys.every((key) => key.length <= MAX_NAME_CHARS)
const isStorableCounter = (name: string): boolean =>
  name.length <= MAX_NAME_CHARS && isPluginCounter(name) && name.isWellFormed()

/** Calls `add` with each counter of `frame` that grew since `base`, an earlier frame of the worker. */
export function eachIncrement(frame: CounterFrame, base: CounterFrame, add: (name: string, by: number) => void): void {
  const before = valuesBefore(frame, base)
  const isRestart = frame.gen !== base.gen || before.hasLost || hasFallen(frame, before.values)
  for (const [at, { name, isPlugin }] of frame.layout.counters.entries()) {
    const value = frame.values[at] ?? 0
    const earlier = before.values[at] ?? 0
    const isFromZero = isPlugin ? value < earlier : isRestart
    const by = isFromZero ? value : value - earlier
    if (by > 0) add(name, by)
  }
  const gapMs = Math.min(frame.atMs - base.atMs, MAX_GAP_MS)
  if (frame.gen === base.gen && gapMs > 0) add(TALLY_NAMES.workerSeconds, gapMs / 1_000)
}

/** The values of `base` in the layout of `frame`, and whether `frame` lacks a reserved counter that was not 0. */
function valuesBefore({ layout }: CounterFrame, base: CounterFrame): { values: Float64Array; hasLost: boolean } {
  if (layout === base.layout) return { values: base.values, hasLost: false }
  const left = new Map(base.layout.counters.map((counter, at) => [counter.name, base.values[at] ?? 0]))
  const values = Float64Array.from(layout.counters, ({ name }) => {
    const value = left.get(name) ?? 0
    left.delete(name)
    return value
  })
  return { values, hasLost: [...left].some(([name, value]) => value > 0 && !isPluginCounter(name)) }
}

function hasFallen({ layout, values }: CounterFrame, before: Float64Array): boolean {
  return layout.counters.some(({ isPlugin }, at) => !isPlugin && (values[at] ?? 0) < (before[at] ?? 0))
}
