/**
 * @module dashboard/charts/lanes-canvas
 * Draws the lanes of slots, and lines at each quarter of the time. A cell spans two frames and is empty if its rate is
 * unknown.
 */
import { isRestart, type StatsColumns } from './columns.ts'
import type { Palette } from './palette.ts'

export const LANE_PIXELS = 16
/** Width of the slot IDs left of the lanes. */
export const LABEL_PIXELS = 44
/** Opacity of an idle slot. */
const LEAST_SHADE = 0.12

export function drawLanes(
  canvas: HTMLCanvasElement,
  width: number,
  { ts, slots }: StatsColumns,
  counter: string | null,
  rows: readonly number[],
  palette: Palette,
): void {
  const scale = devicePixelRatio
  canvas.width = Math.max(100, width) * scale
  canvas.height = rows.length * LANE_PIXELS * scale
  const pen = canvas.getContext('2d')
  if (pen === null) return
  pen.scale(scale, scale)
  pen.font = '11px system-ui, sans-serif'
  pen.textBaseline = 'middle'
  const rates = counter === null ? undefined : slots.rates[counter]
  const most = highestRate(rates)
  const x = xOf(ts, width)
  rows.forEach((row, lane) => {
    const top = lane * LANE_PIXELS
    pen.globalAlpha = 1
    pen.fillStyle = palette.soft
    pen.textAlign = 'right'
    pen.fillText(String(slots.ids[row]), LABEL_PIXELS - 8, top + LANE_PIXELS / 2)
    for (let at = 1; at < ts.length; at++)
      drawCell(
        pen,
        palette,
        { left: x(at - 1), right: x(at), top },
        shadeOf(slots.ages, rates, most, row * ts.length + at),
        isRestart(slots.ages, row * ts.length + at, ts.length),
      )
  })
  drawQuarters(pen, Math.max(100, width), rows.length * LANE_PIXELS, palette)
}

/** The times that the lines stand for are below the lanes. */
function drawQuarters(pen: CanvasRenderingContext2D, width: number, height: number, { soft }: Palette): void {
  pen.globalAlpha = 0.5
  pen.fillStyle = soft
  for (const share of [0.25, 0.5, 0.75])
    pen.fillRect(Math.round(LABEL_PIXELS + share * (width - LABEL_PIXELS - 1)), 0, 1, height)
}

function xOf(ts: readonly number[], width: number): (at: number) => number {
  const [first, last] = [ts[0] ?? 0, ts.at(-1) ?? 0]
  const room = Math.max(100, width) - LABEL_PIXELS - 1
  return (at) => LABEL_PIXELS + (((ts[at] as number) - first) / Math.max(1, last - first)) * room
}

/** @returns 0 if no rate is known. */
export function highestRate(rates: Float32Array | undefined): number {
  let most = 0
  for (const rate of rates ?? []) if (rate > most) most = rate
  return most
}

/** Opacity of a cell; 0 if the slot did not exist in both frames. */
function shadeOf(ages: Float32Array, rates: Float32Array | undefined, most: number, cell: number): number {
  if (Number.isNaN(ages[cell]) || Number.isNaN(ages[cell - 1])) return 0
  const rate = rates?.[cell] ?? Number.NaN
  return most === 0 || Number.isNaN(rate) ? LEAST_SHADE : LEAST_SHADE + (1 - LEAST_SHADE) * (rate / most)
}

function drawCell(
  pen: CanvasRenderingContext2D,
  { series, text }: Palette,
  { left, right, top }: { readonly left: number; readonly right: number; readonly top: number },
  shade: number,
  restarted: boolean,
): void {
  if (shade > 0) {
    pen.globalAlpha = shade
    pen.fillStyle = series[0] as string
    pen.fillRect(left, top + 1, Math.max(1, right - left), LANE_PIXELS - 2)
  }
  if (!restarted) return
  pen.globalAlpha = 1
  pen.fillStyle = text
  pen.fillRect(right - 1, top + 1, 2, LANE_PIXELS - 2)
}
