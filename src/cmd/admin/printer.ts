/**
 * @module cmd/admin/printer
 * Data on stdout. `json` is the answer of the API, `yaml` the same, `table` a choice of it for people: names are never
 * cut, and text of workers and tasks loses what could steer a terminal.
 */
import type { Io } from './io.ts'

export const FORMATS = ['table', 'json', 'yaml'] as const
export type Format = (typeof FORMATS)[number]

export interface Column<Row> {
  readonly head: string
  readonly cell: (row: Row) => unknown
}

const CONTROLS = /[\p{Cc}\p{Bidi_Control}]+/gu
/** Valid in JSON as they are, and commands to some terminals. */
const C1 = /[\u007F-\u009F]/g
const SHOWN_CHARS = 80

const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
const jsonText = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replaceAll(C1, escaped)

/** Text of others on one line. */
export const plain = (text: string): string => text.replaceAll(CONTROLS, ' ').trim()

/** The start of something long; never for names. */
export function brief(value: unknown): string {
  const text = plain(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))
  return text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS - 1)}…` : text
}

/** A time of the wire for people. */
export const when = (seconds: number | null | undefined): string | null =>
  seconds === null || seconds === undefined ? null : new Date(seconds * 1_000).toISOString().replace(/\.\d+Z$/, 'Z')

export function tableText<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
  const lines = [columns.map(({ head }) => head), ...rows.map((row) => columns.map(({ cell }) => cellText(cell(row))))]
  const widths = columns.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)))
  return lines
    .map((line) =>
      line
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
    .concat('\n')
}

function cellText(value: unknown): string {
  if (value === null || value === undefined || value === '') return '-'
  return plain(typeof value === 'string' ? value : JSON.stringify(value))
}

export class Printer {
  readonly format: Format
  readonly #io: Pick<Io, 'out' | 'err'>
  #headed = false

  constructor(format: Format, io: Pick<Io, 'out' | 'err'>) {
    this.format = format
    this.#io = io
  }

  /** One answer. */
  async value(body: unknown, table: () => string): Promise<void> {
    if (this.format === 'table') this.#io.out(table())
    else this.#io.out(this.format === 'json' ? `${jsonText(body, 2)}\n` : await yamlText(body))
  }

  /** A list of rows that is one answer. */
  rows<Row>(rows: readonly Row[], columns: readonly Column<Row>[], body: unknown = rows): Promise<void> {
    return this.value(body, () => tableText(rows, columns))
  }

  /** Rows of a list that goes on: one line of JSON each, or one YAML document. */
  async stream<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): Promise<void> {
    if (rows.length === 0) return
    if (this.format === 'table') {
      const text = tableText(rows, columns)
      this.#io.out(this.#headed ? text.slice(text.indexOf('\n') + 1) : text)
      this.#headed = true
    } else if (this.format === 'json') this.#io.out(rows.map((row) => `${jsonText(row)}\n`).join(''))
    else for (const row of rows) this.#io.out(`---\n${await yamlText(row)}`)
  }

  /** For people, beside the data. */
  note(sentence: string): void {
    this.#io.err(`${plain(sentence)}\n`)
  }
}

async function yamlText(value: unknown): Promise<string> {
  const { stringify } = await import('./yaml.ts')
  const text = stringify(value)
  return C1.test(text) ? stringify(value, { defaultStringType: 'QUOTE_DOUBLE' }).replaceAll(C1, escaped) : text
}
