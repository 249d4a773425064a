/**
 * @module dashboard/charts/figures
 * Formats the values of charts and their axes. Computes the figures of a chart as an accessible alternative, and its
 * CSV export.
 */
import { measureText } from '../components/numbers.ts'
import type { Panel, Series } from './columns.ts'

export interface Figures {
  readonly min: number
  readonly median: number
  readonly max: number
  readonly now: number | null
}

/** @returns null if the series has no values. */
export function figuresOf({ values }: Series): Figures | null {
  const known = values.filter((value) => value !== null).toSorted((a, b) => a - b)
  if (known.length === 0) return null
  const half = Math.floor(known.length / 2)
  const median =
    known.length % 2 === 1 ? (known[half] as number) : ((known[half - 1] as number) + (known[half] as number)) / 2
  return { min: known[0] as number, median, max: known.at(-1) as number, now: values.at(-1) ?? null }
}

export function figureText(value: number | null, unit: string): string {
  if (value === null) return '–'
  if (unit === 'seconds') return durationText(value)
  const isSmall = Math.abs(value) > 0 && Math.abs(value) < 0.1
  const text = isSmall ? value.toPrecision(2) : measureText(value)
  if (unit === '') return text
  return `${text} ${unit === 'per second' ? '/s' : unit}`
}

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

/** The text of a value of an axis, at most about eight characters: `12.5K`, `250 ms`, `0.4 %`. */
export function axisText(value: number, unit: string): string {
  if (unit === 'seconds') return durationText(value)
  return unit === '%' || unit === 'MB' ? `${compact.format(value)} ${unit}` : compact.format(value)
}

const PERCENT_TOPS = [1, 5, 10, 25, 50, 100]

/** The top of a value axis that begins at 0: above all values, also if they are small or 0. */
export function axisTop(unit: string, max: number): number {
  if (unit === 'seconds') return max === 0 ? 1 : max * 1.05
  if (unit === '%') return PERCENT_TOPS.find((top) => top >= max) ?? max * 1.05
  return Math.max(1, max * 1.05)
}

const UNITS: readonly (readonly [seconds: number, unit: string])[] = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
  [1, 's'],
]

/** `850 ms`, `1.5 s`, `12 min`, `2.3 h`. @param seconds 0 or more. */
export function durationText(seconds: number): string {
  const [length, unit] = UNITS.find(([least]) => seconds >= least) ?? [0.001, 'ms']
  if (seconds === 0) return '0 s'
  const value = seconds / length
  return `${value >= 100 ? Math.round(value) : Number(value.toPrecision(2))} ${unit}`
}

/** @see RFC 4180 */
export function csvOf(ts: readonly number[], { series, unit }: Panel): string {
  const head = ['time', ...series.map(({ label }) => (unit === '' ? label : `${label} (${unit})`))].map(cell)
  const rows = ts.map((at, index) =>
    [new Date(at * 1_000).toISOString(), ...series.map(({ values }) => values[index] ?? '')].join(','),
  )
  return `${[head.join(','), ...rows].join('\r\n')}\r\n`
}

/** Metric names are untrusted: a spreadsheet would run text that starts with = + - or @ as a formula. */
const cell = (text: string): string => `"${(/^[=+\-@]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`
