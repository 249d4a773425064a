/**
 * @module dashboard/charts/columns
 * Converts stats frames to chart columns. A gap is null and is never connected by a line. Gaps are: more than 45 s
 * between two frames, a counter that decreased because its worker restarted, and a value that is not a number.
 *
 *   counter.x                         rate per second between two frames    one line
 *   histogram.x.p50|p95|p99                                                 three lines in one chart
 *   histogram.x.count                 rate per second between two frames    one line in its own chart
 *   gauge.x, any other                                                      one line
 *   counter.muster.x, gauge.muster.x                                        none: they compare configs (D137)
 * @see D55
 */
import type { Stats } from '../../protocol/index.ts'

/** The values of a line; null where they are not known. */
export type Column = readonly (number | null)[]

export interface Series {
  readonly label: string
  readonly values: Column
}
/** One chart. */
export interface Panel {
  readonly name: string
  readonly unit: string
  readonly series: readonly Series[]
}

interface SlotColumns {
  readonly ids: readonly number[]
  readonly counters: readonly string[]
  /** Rates per second by counter: one row per slot with one cell per entry of `ts`. NaN if unknown. */
  readonly rates: Readonly<Record<string, Float32Array>>
  /** Ages in seconds with the same layout. NaN if the slot did not exist. */
  readonly ages: Float32Array
}

export interface StatsColumns {
  /** Unix seconds of the frames. Every gap contains a point without values. */
  readonly ts: readonly number[]
  readonly panels: readonly Panel[]
  readonly slots: SlotColumns
}

const GAP_SECONDS = 45
/** Metrics that the runtime of a worker adds (D137). */
const RESERVED = /^(?:counter|gauge)\.muster\./
export const FRAMES_KEPT = 240

/** Appends newer frames. The response includes the frame at the requested time again, which is skipped. */
export function withNewer(frames: readonly Stats[], newer: readonly Stats[]): readonly Stats[] {
  const last = frames.at(-1)?.ts ?? -Infinity
  return [...frames, ...newer.filter(({ ts }) => ts > last)].slice(-FRAMES_KEPT)
}

type Row = Stats | null

export function columnsOf(frames: readonly Stats[]): StatsColumns {
  const rows = frames.flatMap((frame, index): Row[] =>
    index > 0 && frame.ts - (frames[index - 1] as Stats).ts > GAP_SECONDS ? [null, frame] : [frame],
  )
  const ts = rows.map((row, index) => row?.ts ?? ((rows[index - 1] as Stats).ts + (rows[index + 1] as Stats).ts) / 2)
  return { ts, panels: [...basePanels(rows), ...metricPanels(rows, ts)], slots: slotColumns(rows, ts) }
}

/**
 * Continues the panels up to now with a gap, if the newest frame is older than that: a worker that is offline has no
 * present values, and its lines end where its frames do.
 */
export function withGapUntil(data: StatsColumns, nowSeconds: number): Pick<StatsColumns, 'ts' | 'panels'> {
  const { ts, panels } = data
  const last = ts.at(-1)
  if (last === undefined || nowSeconds - last <= GAP_SECONDS) return data
  return {
    ts: [...ts, nowSeconds],
    panels: panels.map((panel) => ({
      ...panel,
      series: panel.series.map((series) => ({ ...series, values: [...series.values, null] })),
    })),
  }
}

const column = (rows: readonly Row[], read: (frame: Stats) => unknown): Column =>
  rows.map((row) => (row === null ? null : finite(read(row))))
const finite = (value: unknown): number | null => (typeof value === 'number' && Number.isFinite(value) ? value : null)

function basePanels(rows: readonly Row[]): readonly Panel[] {
  const panel = (name: string, unit: string, read: (frame: Stats) => number): Panel => ({
    name,
    unit,
    series: [{ label: name, values: column(rows, read) }],
  })
  return [
    panel('CPU', '%', ({ cpu_pct }) => cpu_pct),
    panel('Memory', 'MB', ({ rss_mb }) => rss_mb),
    panel('Slots', '', ({ slots }) => slots),
  ]
}

function metricPanels(rows: readonly Row[], ts: readonly number[]): readonly Panel[] {
  const named = new Set(rows.flatMap((row) => (row === null ? [] : Object.keys(row.metrics))))
  const names = [...named].filter((name) => !RESERVED.test(name)).toSorted()
  const read = (name: string): Column =>
    column(rows, ({ metrics }) => (Object.hasOwn(metrics, name) ? metrics[name] : null))
  const panels = new Map<string, Panel>()
  for (const name of names) {
    const { title, label, isRate } = placeOf(name)
    const values = isRate ? rates(read(name), ts) : read(name)
    const before = panels.get(title)
    panels.set(title, {
      name: title,
      unit: isRate ? 'per second' : '',
      series: [...(before?.series ?? []), { label, values }],
    })
  }
  return [...panels.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

function placeOf(name: string): { readonly title: string; readonly label: string; readonly isRate: boolean } {
  const [, histogram, quantile] = /^histogram\.(.+)\.(p\d+|count)$/s.exec(name) ?? []
  if (histogram !== undefined && quantile !== undefined)
    return quantile === 'count'
      ? { title: `${histogram} count`, label: 'count', isRate: true }
      : { title: histogram, label: quantile, isRate: false }
  const own = name.replace(/^(?:counter|gauge)\./, '')
  return { title: own, label: own, isRate: name.startsWith('counter.') }
}

function rates(totals: Column, ts: readonly number[]): Column {
  return totals.map((total, index) => {
    const before = totals[index - 1] ?? null
    const seconds = (ts[index] as number) - (ts[index - 1] ?? Number.NaN)
    return total === null || before === null || total < before || !(seconds > 0) ? null : (total - before) / seconds
  })
}

function slotColumns(rows: readonly Row[], ts: readonly number[]): SlotColumns {
  const found = rows.flatMap((row) => row?.per_slot ?? [])
  const ids = [...new Set(found.map(({ slot_id }) => slot_id))].toSorted((a, b) => a - b)
  const counters = [...new Set(found.flatMap(({ counters: own }) => Object.keys(own)))].toSorted()
  const rowOf = new Map(ids.map((id, index) => [id, index]))
  const fill = (read: (slot: Stats['per_slot'][number]) => unknown): Float32Array => {
    const cells = new Float32Array(ids.length * ts.length).fill(Number.NaN)
    rows.forEach((row, at) =>
      row?.per_slot.forEach(
        (slot) => (cells[(rowOf.get(slot.slot_id) as number) * ts.length + at] = finite(read(slot)) ?? Number.NaN),
      ),
    )
    return cells
  }
  return {
    ids,
    counters,
    ages: fill(({ age_seconds }) => age_seconds),
    rates: Object.fromEntries(
      counters.map((name) => [
        name,
        slotRates(
          fill(({ counters: own }) => (Object.hasOwn(own, name) ? own[name] : null)),
          ts,
        ),
      ]),
    ),
  }
}

/** Unknown values are NaN, and a difference with NaN is NaN. */
function slotRates(totals: Float32Array, ts: readonly number[]): Float32Array {
  return totals.map((total, cell) => {
    const at = cell % ts.length
    const change = at === 0 ? Number.NaN : total - (totals[cell - 1] as number)
    return change >= 0 ? change / ((ts[at] as number) - (ts[at - 1] as number)) : Number.NaN
  })
}

/** Whether a slot was replaced between a frame and the previous one. */
export function isRestart(ages: Float32Array, cell: number, frames: number): boolean {
  return cell % frames > 0 && (ages[cell] as number) < (ages[cell - 1] as number)
}
