/**
 * @module dashboard/charts/chart
 * Draws one panel as lines over time. All charts of the page share a crosshair. Each head shows the values at it.
 */
import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { clockText } from '../components/moments.ts'
import { preferences } from '../settings/preferences.ts'
import type { Panel } from './columns.ts'
import { axisText, axisTop, figureText } from './figures.ts'
import { DASHES, type Palette } from './palette.ts'
import { tickText } from './ticks.ts'

/** An event that may explain a change of the lines, for example a new config generation. */
export interface Marker {
  readonly at: number
  readonly text: string
}

export interface ChartProps {
  readonly ts: readonly number[]
  readonly panel: Panel
  readonly markers: readonly Marker[]
  readonly palette: Palette
  /** What the time axis covers, in unix seconds; the rows if left out. */
  readonly range?: TimeRange
  /** Pixels; 140 if left out. */
  readonly height?: number
}

interface TimeRange {
  readonly from: number
  readonly to: number
}

const HEIGHT = 140
/** Minimum span of the time axis, so that a single sample is visible. */
const MIN_SPAN_SECONDS = 60
const WHOLE_STEPS = Array.from({ length: 12 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat()
const FONT = '11px system-ui, sans-serif'

export function Chart({ ts, panel, markers, palette, range, height = HEIGHT }: ChartProps) {
  const box = useRef<HTMLDivElement>(null)
  const pointed = useRef<HTMLOutputElement>(null)
  const plot = useRef<uPlot>(null)
  const newest = useRef({ ts, panel, markers, range })
  const { unit } = panel
  const isWhole = panel.series.every(({ values }) => values.every((value) => value === null || Number.isInteger(value)))
  const labels = JSON.stringify(panel.series.map(({ label }) => label))
  useEffect(() => {
    newest.current = { ts, panel, markers, range }
    plot.current?.setData(dataOf(ts, panel))
  }, [ts, panel, markers, range])
  useEffect(() => {
    const host = box.current
    if (host === null) return undefined
    const say = (at: number | null | undefined): void => {
      if (pointed.current !== null)
        pointed.current.textContent = at == null ? '' : pointedText(newest.current.ts, newest.current.panel, at)
    }
    const made = new uPlot(
      optionsOf(
        { labels: JSON.parse(labels) as string[], unit, isWhole },
        palette,
        { width: host.clientWidth, height },
        () => newest.current,
        say,
      ),
      dataOf(newest.current.ts, newest.current.panel),
      host,
    )
    plot.current = made
    const resized = new ResizeObserver(() => made.setSize({ width: host.clientWidth, height }))
    resized.observe(host)
    return () => {
      resized.disconnect()
      made.destroy()
      plot.current = null
    }
  }, [palette, labels, unit, isWhole, height])
  return (
    <>
      <output ref={pointed} className="pointed" aria-hidden="true" />
      <div ref={box} className="plot" style={{ height }} aria-hidden="true" />
    </>
  )
}

const dataOf = (ts: readonly number[], { series }: Panel): uPlot.AlignedData =>
  [[...ts], ...series.map(({ values }) => [...values])] as uPlot.AlignedData

function pointedText(ts: readonly number[], { series, unit }: Panel, at: number): string {
  const time = ts[at]
  if (time === undefined) return ''
  const values = series.map(
    ({ label, values: own }) => `${series.length === 1 ? '' : `${label} `}${figureText(own[at] ?? null, unit)}`,
  )
  return `${clockText(time)}  ${values.join('  ')}`
}

interface ChartSeries {
  readonly labels: readonly string[]
  readonly unit: string
  /** All values are integers, so the axis needs no fractions. */ readonly isWhole: boolean
}

function optionsOf(
  { labels, unit, isWhole }: ChartSeries,
  palette: Palette,
  size: { readonly width: number; readonly height: number },
  newest: () => { readonly markers: readonly Marker[]; readonly range: TimeRange | undefined },
  say: (at: number | null | undefined) => void,
): uPlot.Options {
  const axis = {
    stroke: palette.soft,
    font: FONT,
    grid: { stroke: palette.hair, width: 1 },
    ticks: { stroke: palette.hair, width: 1, size: 4 },
  }
  return {
    width: Math.max(size.width, 100),
    height: size.height,
    legend: { show: false },
    padding: [8, 18, 0, 0],
    ...(preferences().utc ? { tzDate: (seconds: number) => uPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC') } : {}),
    scales: {
      x: {
        range: (_plot, min, max) => {
          const { range } = newest()
          return range === undefined ? [Math.min(min, max - MIN_SPAN_SECONDS), max] : [range.from, range.to]
        },
      },
      y: { range: (_plot, _min, max) => [0, axisTop(unit, max ?? 0)] },
    },
    axes: [
      { ...axis, ...TIME_AXIS },
      {
        ...axis,
        size: (_plot, values) => axisPixels(values),
        values: (_plot, splits) => splits.map((value) => axisText(value, unit)),
        space: 30,
        ...incrementsOf(unit, isWhole),
      },
    ],
    series: [
      {},
      ...labels.map((label, index) => ({
        label,
        stroke: palette.series[index % palette.series.length] as string,
        width: 1.5,
        dash: [...(DASHES[index % DASHES.length] as readonly number[])],
        spanGaps: false,
        points: { size: 5, fill: palette.series[index % palette.series.length] as string, filter: isolatedPoints },
      })),
    ],
    cursor: { y: false, drag: { x: false, y: false }, sync: { key: 'worker' } },
    hooks: {
      setCursor: [({ cursor }) => say(cursor.idx)],
      draw: [(plot) => drawMarkers(plot, newest().markers, palette)],
    },
  }
}

/** Draws a point for a sample that has no neighbour, because a line needs two. */
const isolatedPoints: uPlot.Series.Points.Filter = (plot, series, isEachShown) => {
  const values = plot.data[series] ?? []
  return isEachShown
    ? null
    : [...values.keys()].filter((at) => values[at] != null && values[at - 1] == null && values[at + 1] == null)
}

const TIME_AXIS = {
  space: 60,
  size: 28,
  values: (_plot, splits, _axis, _space, stepSeconds) =>
    splits.map((seconds) => tickText(seconds, stepSeconds, preferences().utc)),
} satisfies uPlot.Axis

const CHAR_PIXELS = 6.5
const LEAST_AXIS_PIXELS = 40

/** The width of an axis whose labels have these texts. */
const axisPixels = (values: readonly string[] | null): number =>
  Math.max(LEAST_AXIS_PIXELS, 14 + CHAR_PIXELS * Math.max(0, ...(values ?? []).map((value) => value.length)))

/** Steps of an axis of durations, so that its labels are round in their unit. */
const DURATION_STEPS: number[] = [0.0001, 0.001, 0.01, 0.1]
  .flatMap((step) => [step, 2 * step, 5 * step])
  .concat(
    [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 21_600, 43_200],
    [1, 2, 5, 10, 20, 50, 100, 200, 500].map((days) => days * 86_400),
  )

function incrementsOf(unit: string, isWhole: boolean): { readonly incrs?: number[] } {
  if (unit === 'seconds') return { incrs: DURATION_STEPS }
  return isWhole ? { incrs: WHOLE_STEPS } : {}
}

/**
 * Draws the lines of the markers, then their texts, the newest first: to the right of the line, or to the left where it
 * would not fit. Leaves out a text that would overlap another one.
 */
function drawMarkers(plot: uPlot, markers: readonly Marker[], { mark, panel }: Palette): void {
  const { ctx, bbox } = plot
  ctx.save()
  ctx.fillStyle = mark
  ctx.lineJoin = 'round'
  ctx.textAlign = 'left' // The axes change it.
  ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`
  const right = bbox.left + bbox.width
  const shown = markers
    .map(({ at, text }) => ({ x: plot.valToPos(at, 'x', true), text }))
    .filter(({ x }) => x >= bbox.left && x <= right)
    .toSorted((a, b) => b.x - a.x)
  ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio])
  ctx.lineWidth = devicePixelRatio
  ctx.strokeStyle = mark
  ctx.beginPath()
  for (const { x } of shown) {
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
  }
  ctx.stroke()
  ctx.setLineDash([])
  ctx.lineWidth = 4 * devicePixelRatio
  ctx.strokeStyle = panel // An outline in the colour of the background, so that lines do not cross the text.
  const gap = 4 * devicePixelRatio
  const baseline = bbox.top + 10 * devicePixelRatio
  let free = right
  for (const { x, text } of shown) {
    const { width } = ctx.measureText(text)
    const left = x + gap + width <= right ? x + gap : x - gap - width
    if (left < bbox.left || left + width > free) continue
    ctx.strokeText(text, left, baseline)
    ctx.fillText(text, left, baseline)
    free = left - gap
  }
  ctx.restore()
}
