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
import { figureText } from './figures.ts'
import { DASHES, type Palette } from './palette.ts'

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
}

const HEIGHT = 140
const WHOLE_STEPS = Array.from({ length: 12 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat()
const FONT = '11px system-ui, sans-serif'

export function Chart({ ts, panel, markers, palette }: ChartProps) {
  const box = useRef<HTMLDivElement>(null)
  const pointed = useRef<HTMLOutputElement>(null)
  const plot = useRef<uPlot>(null)
  const newest = useRef({ ts, panel, markers })
  const { unit } = panel
  const isWhole = panel.series.every(({ values }) => values.every((value) => value === null || Number.isInteger(value)))
  const labels = JSON.stringify(panel.series.map(({ label }) => label))
  useEffect(() => {
    newest.current = { ts, panel, markers }
    plot.current?.setData(dataOf(ts, panel))
  }, [ts, panel, markers])
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
        host.clientWidth,
        () => newest.current.markers,
        say,
      ),
      dataOf(newest.current.ts, newest.current.panel),
      host,
    )
    plot.current = made
    const resized = new ResizeObserver(() => made.setSize({ width: host.clientWidth, height: HEIGHT }))
    resized.observe(host)
    return () => {
      resized.disconnect()
      made.destroy()
      plot.current = null
    }
  }, [palette, labels, unit, isWhole])
  return (
    <>
      <output ref={pointed} className="pointed" aria-hidden="true" />
      <div ref={box} className="plot" aria-hidden="true" />
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
  width: number,
  markers: () => readonly Marker[],
  say: (at: number | null | undefined) => void,
): uPlot.Options {
  const axis = {
    stroke: palette.soft,
    font: FONT,
    grid: { stroke: palette.hair, width: 1 },
    ticks: { stroke: palette.hair, width: 1, size: 4 },
  }
  return {
    width: Math.max(width, 100),
    height: HEIGHT,
    legend: { show: false },
    padding: [8, 18, 0, 0],
    ...(preferences().utc ? { tzDate: (seconds: number) => uPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC') } : {}),
    scales: { y: { range: (_plot, _min, max) => [0, Math.max(unit === '%' ? 100 : 1, (max ?? 0) * 1.05)] } },
    axes: [
      {
        ...axis,
        space: 60,
        size: 28,
        values: [
          [3600, '{HH}:{mm}'],
          [60, '{HH}:{mm}'],
          [1, '{HH}:{mm}:{ss}'],
        ],
      },
      { ...axis, size: 44, space: 30, ...(isWhole ? { incrs: WHOLE_STEPS } : {}) },
    ],
    series: [
      {},
      ...labels.map((label, index) => ({
        label,
        stroke: palette.series[index % palette.series.length] as string,
        width: 1.5,
        dash: [...(DASHES[index % DASHES.length] as readonly number[])],
        spanGaps: false,
        points: { size: 4 },
      })),
    ],
    cursor: { y: false, drag: { x: false, y: false }, sync: { key: 'worker' } },
    hooks: { setCursor: [({ cursor }) => say(cursor.idx)], draw: [(plot) => drawMarkers(plot, markers(), palette)] },
  }
}

/** Draws the newest marker first. Leaves out the text of a marker if it would overlap another text. */
function drawMarkers(plot: uPlot, markers: readonly Marker[], { mark }: Palette): void {
  const { ctx, bbox } = plot
  ctx.save()
  ctx.strokeStyle = mark
  ctx.fillStyle = mark
  ctx.textAlign = 'left' // The axes change it.
  ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`
  ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio])
  let free = Infinity
  for (const { at, text } of markers.toSorted((a, b) => b.at - a.at)) {
    const x = plot.valToPos(at, 'x', true)
    if (!(x >= bbox.left && x <= bbox.left + bbox.width)) continue
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
    const { width } = ctx.measureText(text)
    const gap = 4 * devicePixelRatio
    const left = Math.min(x + gap, bbox.left + bbox.width - width)
    if (left + width > free) continue
    ctx.fillText(text, left, bbox.top + 10 * devicePixelRatio)
    free = left - gap
  }
  ctx.restore()
}
