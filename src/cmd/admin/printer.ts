/**
 * @module cmd/admin/printer
 * Prints data on stdout. `json` and `yaml` are the unchanged API response; `table` and `wide` are a selection of its
 * fields, `name` is what other commands accept, and `jsonpath` selects values of the document that `json` prints. Names
 * are never truncated. Control characters in the text of workers and tasks are replaced, since they could control a
 * terminal.
 * @see D212
 */
import { isRawNumber } from '../../protocol/index.ts'
import type { Io } from './io.ts'
import type { Select } from './json-path.ts'

export const FORMATS = ['table', 'wide', 'json', 'yaml', 'name'] as const
const PATH_PREFIX = 'jsonpath='
export type Format = (typeof FORMATS)[number] | `${typeof PATH_PREFIX}${string}`

export interface Column<Row> {
  readonly head: string
  readonly cell: (row: Row) => unknown
  /** Shown with `-o wide` alone. */
  readonly isWide?: true
  /** Its cell is what other commands accept: `-o name` prints it. Several are separated by a space. */
  readonly isName?: true
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
  return layOut(rows, columns, { hasHeads: true, least: [] }).text
}

interface Layout {
  readonly hasHeads: boolean
  /** The least width of each column. */
  readonly least: readonly number[]
}

function layOut<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { hasHeads, least }: Layout,
): { readonly text: string; readonly widths: readonly number[] } {
  const heads = hasHeads ? [columns.map(({ head }) => head)] : []
  const lines = [...heads, ...rows.map((row) => columns.map(({ cell }) => cellText(cell(row))))]
  if (lines.length === 0) return { text: '', widths: least }
  const widths = columns.map((_, at) => Math.max(least[at] ?? 0, ...lines.map((line) => line[at]?.length ?? 0)))
  const text = lines
    .map((line) =>
      line
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
    .concat('\n')
  return { text, widths }
}

/** A value that an expression selects, as one line: text as it is, unless it has control characters; else JSON. */
const selectedText = (value: unknown): string =>
  typeof value === 'string' && !/\p{Cc}/u.test(value) ? value : jsonText(value)

function cellText(value: unknown): string {
  if (value === null || value === undefined || value === '') return '-'
  return plain(typeof value === 'string' ? value : JSON.stringify(value))
}

/** What `-o name` prints of a row: one exact line, or none, as of a task that was rejected. */
function namesOf<Row>(row: Row, columns: readonly Column<Row>[]): readonly string[] {
  const cells = columns.flatMap(({ isName, cell }) => (isName === true ? (cell(row) ?? []) : []))
  if (cells.length === 0) return []
  const words = cells.map((cell) => (typeof cell === 'string' ? cell : JSON.stringify(cell)))
  return [words.join(' ').replaceAll(/\p{Cc}/gu, ' ')]
}

interface PrinterOptions {
  /** Whether tables have a line of heads; yes if omitted. */
  readonly hasHeads?: boolean
  /** Of the format jsonpath. */
  readonly select?: Select
}

/** @throws {Error} for a wrong expression of the format jsonpath. */
export async function openPrinter(
  format: Format,
  io: Pick<Io, 'out' | 'err'>,
  options: Pick<PrinterOptions, 'hasHeads'>,
): Promise<Printer> {
  if (!format.startsWith(PATH_PREFIX)) return new Printer(format, io, options)
  const { compilePath } = await import('./json-path.ts')
  return new Printer(format, io, { ...options, select: compilePath(format.slice(PATH_PREFIX.length)) })
}

export class Printer {
  readonly format: Format
  readonly #io: Pick<Io, 'out' | 'err'>
  readonly #hasHeads: boolean
  readonly #select: Select
  #isHeadDue: boolean
  /** Of the rows that were streamed, so that further ones stand below them. */
  #widths: readonly number[] = []

  constructor(
    format: Format,
    io: Pick<Io, 'out' | 'err'>,
    { hasHeads = true, select = (document) => [document] }: PrinterOptions = {},
  ) {
    this.format = format
    this.#io = io
    this.#hasHeads = hasHeads
    this.#isHeadDue = hasHeads
    this.#select = select
  }

  /** Whether it prints for people, who are also interested in notes. */
  get isTable(): boolean {
    return this.format === 'table' || this.format === 'wide'
  }

  /** Prints one response. `names`: what `-o name` prints. */
  async value(body: unknown, table: () => string, names: readonly string[] = []): Promise<void> {
    this.#io.out(this.isTable ? table() : await this.#documentText(body, names, 2))
  }

  /** Prints a response that is a list of rows. */
  rows<Row>(rows: readonly Row[], columns: readonly Column<Row>[], body: unknown = rows): Promise<void> {
    const names = rows.flatMap((row) => namesOf(row, columns))
    return this.value(body, () => this.table(rows, columns), names)
  }

  /** Formats rows with the columns of this format. */
  table<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
    return layOut(rows, this.#shown(columns), { hasHeads: this.#hasHeads, least: [] }).text
  }

  #shown<Row>(columns: readonly Column<Row>[]): readonly Column<Row>[] {
    return columns.filter(({ isWide }) => this.format === 'wide' || isWide !== true)
  }

  /**
   * Prints further rows of an unbounded list: one line of JSON or one YAML document per row. The table head is printed
   * once.
   */
  async stream<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): Promise<void> {
    if (rows.length === 0) return
    if (this.isTable) {
      const layout = { hasHeads: this.#isHeadDue, least: this.#widths }
      const { text, widths } = layOut(rows, this.#shown(columns), layout)
      this.#io.out(text)
      this.#widths = widths
      this.#isHeadDue = false
      return
    }
    const begin = this.format === 'yaml' ? '---\n' : ''
    const texts: string[] = []
    for (const row of rows) texts.push(begin + (await this.#documentText(row, namesOf(row, columns))))
    this.#io.out(texts.join(''))
  }

  async #documentText(body: unknown, names: readonly string[], indent?: number): Promise<string> {
    if (this.format === 'yaml') return yamlText(body)
    if (this.format === 'json') return `${jsonText(body, indent)}\n`
    const found = this.format === 'name' ? names : this.#select(body).map(selectedText)
    return found.map((line) => `${line}\n`).join('')
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
