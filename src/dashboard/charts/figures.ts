/**
 * @module dashboard/charts/figures
 * Computes the figures of a chart as an accessible alternative, and its CSV export.
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
  const isSmall = Math.abs(value) > 0 && Math.abs(value) < 0.1
  const text = isSmall ? value.toPrecision(2) : measureText(value)
  if (unit === '') return text
  return `${text} ${unit === 'per second' ? '/s' : unit}`
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
