/**
 * @module dashboard/worker/log-buffer
 * Buffers the rows of the log of a worker: its newest entries, and a marker where entries are missing. Keeps at most
 * 5,000 rows, as the worker does, and drops the oldest first.
 */
import type { WorkerLogEntry, WorkerLogsBody } from '../../protocol/index.ts'

export type LogLevel = WorkerLogEntry['level']
export type LogRow =
  | { readonly kind: 'entry'; readonly key: string; readonly entry: WorkerLogEntry; readonly text: string }
  /** `missed`: the number of entries that were overwritten; null if the worker restarted. */
  | { readonly kind: 'gap'; readonly key: string; readonly missed: number | null }

export interface LogBuffer {
  readonly rows: readonly LogRow[]
  /** The `after` of the next read; null before the first one. */
  readonly next: number | null
  /** When the process of the worker started, in seconds; null before the first read. */
  readonly startedAt: number | null
}

export const EMPTY_LOG: LogBuffer = { rows: [], next: null, startedAt: null }
const MOST_ROWS = 5_000
const SEVERITY: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 }
const CONTROLS = /[\p{Cc}\p{Bidi_Control}]/gu

/** Appends a response. `missed` of the first response is no gap, because no rows precede it. */
export function withLogs(log: LogBuffer, { entries, next, missed, started_at: startedAt }: WorkerLogsBody): LogBuffer {
  const isGap = log.next !== null && log.next !== 0 && missed !== 0
  const mark: readonly LogRow[] = isGap ? [{ kind: 'gap', key: `gap ${next}`, missed }] : []
  if (entries.length === 0 && !isGap) return { ...log, next, startedAt }
  return { rows: [...log.rows, ...mark, ...entries.map(rowOf)].slice(-MOST_ROWS), next, startedAt }
}

const rowOf = (entry: WorkerLogEntry): LogRow => ({
  kind: 'entry',
  key: String(entry.seq),
  entry,
  text: [entry.message, ...Object.entries(entry.fields).map(fieldText)].map(visible).join(' '),
})

const fieldText = ([name, value]: readonly [string, unknown]): string =>
  `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`

/** Control characters and marks of text direction as escapes, so that text is shown as it is. */
const visible = (text: string): string =>
  text.replaceAll(CONTROLS, (char) => (char === '\n' ? '⏎' : `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`))

/** Keeps entries of the level or above it that contain every word, ignoring case. Gaps are always kept. */
export function selected(rows: readonly LogRow[], level: LogLevel | '', filter: string): readonly LogRow[] {
  const words = filter
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
  if (words.length === 0 && level === '') return rows
  const severity = level === '' ? 0 : SEVERITY[level]
  return rows.filter((row) => row.kind === 'gap' || (SEVERITY[row.entry.level] >= severity && hasWords(row, words)))
}

function hasWords({ entry, text }: Extract<LogRow, { kind: 'entry' }>, words: readonly string[]): boolean {
  const haystack = `${text}\n${entry.task_id ?? ''}\nslot:${entry.slot_id ?? ''} `.toLowerCase()
  return words.every((word) => haystack.includes(word.startsWith('slot:') ? `${word} ` : word))
}

export const entriesOf = (rows: readonly LogRow[]): readonly WorkerLogEntry[] =>
  rows.flatMap((row) => (row.kind === 'entry' ? [row.entry] : []))

/** One line for each row: `2026-01-01T00:00:00.000Z warn slot 0 task t-1 slow url=…`. */
export const logText = (rows: readonly LogRow[]): string => rows.map((row) => `${lineOf(row)}\n`).join('')

function lineOf(row: LogRow): string {
  if (row.kind === 'gap') return `-- ${gapText(row.missed)} --`
  const { ts, level, slot_id: slot, task_id: task } = row.entry
  const run = [...(slot === null ? [] : [`slot ${slot}`]), ...(task === null ? [] : [`task ${visible(task)}`])]
  return [new Date(ts * 1_000).toISOString(), level.padEnd(5), ...run, row.text].join(' ')
}

export function gapText(missed: number | null): string {
  if (missed === null) return 'the worker restarted: what follows is the log of its new process'
  return `${missed} ${missed === 1 ? 'entry was' : 'entries were'} overwritten before they could be read`
}
