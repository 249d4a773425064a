/**
 * @module cmd/admin/printer
 * Prints data on stdout. `json` and `yaml` are the unchanged API response; `table` is a selection of its fields. Names
 * are never truncated. Control characters in the text of workers and tasks are replaced, since they could control a
 * terminal.
 */
import { isRawNumber } from '../../protocol/index.ts'
import type { Io } from './io.ts'

export const FORMATS = ['table', 'json', 'yaml'] as const
export type Format = (typeof FORMATS)[number]

export interface Column<Row> {
  readonly head: string
  readonly cell: (row: Row) => unknown
}

const CONTROLS = /[\p{Cc}\p{Bidi_Control}]+/gu
/** Valid unescaped in JSON, but some terminals interpret them as commands. */
const C1 = /[\u007F-\u009F]/g
const SHOWN_CHARS = 80

const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
const jsonText = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replaceAll(C1, escaped)

/** Replaces control characters and line breaks in text from workers, tasks or the network. */
export const plain = (text: string): string => text.replaceAll(CONTROLS, ' ').trim()

/** Truncates a long value for a table cell; never used for names. */
export function brief(value: unknown): string {
  const text = plain(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))
  return text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS - 1)}…` : text
}

/** Formats a time of the API, in seconds since 1970, as ISO 8601. */
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

  /** Prints one response. */
  async value(body: unknown, table: () => string): Promise<void> {
    if (this.format === 'table') this.#io.out(table())
    else this.#io.out(this.format === 'json' ? `${jsonText(body, 2)}\n` : await yamlText(body))
  }

  /** Prints a response that is a list of rows. */
  rows<Row>(rows: readonly Row[], columns: readonly Column<Row>[], body: unknown = rows): Promise<void> {
    return this.value(body, () => tableText(rows, columns))
  }

  /**
   * Prints further rows of an unbounded list: one line of JSON or one YAML document per row. The table head is printed
   * once.
   */
  async stream<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): Promise<void> {
    if (rows.length === 0) return
    if (this.format === 'table') {
      const text = tableText(rows, columns)
      this.#io.out(this.#headed ? text.slice(text.indexOf('\n') + 1) : text)
      this.#headed = true
    } else if (this.format === 'json') this.#io.out(rows.map((row) => `${jsonText(row)}\n`).join(''))
    else for (const row of rows) this.#io.out(`---\n${await yamlText(row)}`)
  }

  /** Prints a sentence for the user on stderr, where it does not mix with the data. */
  note(sentence: string): void {
    this.#io.err(`${plain(sentence)}\n`)
  }
}

/** Keeps the digits of a number that a double cannot represent (D75). YAML has integers of any size. */
const yamlNumber = (_key: unknown, value: unknown): unknown => {
  if (!isRawNumber(value)) return value
  return /^-?\d+$/.test(value.rawJSON) ? BigInt(value.rawJSON) : Number(value.rawJSON)
}

async function yamlText(value: unknown): Promise<string> {
  const { stringify } = await import('./yaml.ts')
  const text = stringify(value, yamlNumber)
  return C1.test(text)
    ? stringify(value, yamlNumber, { defaultStringType: 'QUOTE_DOUBLE' }).replaceAll(C1, escaped)
    : text
}
