/**
 * @module dashboard/output/tail-buffer
 * What a tail has shown: the newest entries of a stream, and a mark where some are missing. At most 2,000 rows
 * and 16 million characters; the oldest leave first.
 */
import type { OutputEntry, TailBody } from '../../protocol/index.ts'

export type TailRow =
  | { readonly kind: 'entry'; readonly entry: OutputEntry; readonly text: string }
  /** Entries between its neighbours were popped or trimmed before they could be read. */
  | { readonly kind: 'gap'; readonly before: string }

export interface Tail {
  readonly rows: readonly TailRow[]
  /** Where the next read goes on; null before the first entry. */
  readonly lastId: string | null
  /** Rows that left at the old end. */
  readonly dropped: number
}

export const EMPTY_TAIL: Tail = { rows: [], lastId: null, dropped: 0 }
const MOST_ROWS = 2_000
/** An entry may hold a megabyte; a tab may not hold two thousand of them. */
const MOST_CHARACTERS = 16_000_000

/** `gap` of a first read is none: nothing was shown before it. */
export function withAnswer(tail: Tail, { entries, gap }: TailBody): Tail {
  const [first] = entries
  if (first === undefined) return tail
  const mark: readonly TailRow[] = gap && tail.lastId !== null ? [{ kind: 'gap', before: first.id }] : []
  const rows = [...tail.rows, ...mark, ...entries.map(rowOf)]
  const extra = rows.length - roomFor(rows)
  return { rows: rows.slice(extra), lastId: entries.at(-1)?.id ?? null, dropped: tail.dropped + extra }
}

/** How many of the newest rows stay, the newest one always. */
function roomFor(rows: readonly TailRow[]): number {
  let room = 0
  let characters = 0
  for (const row of rows.toReversed()) {
    characters += row.kind === 'entry' ? row.text.length : 0
    if (room === MOST_ROWS || (room > 0 && characters > MOST_CHARACTERS)) return room
    room += 1
  }
  return room
}

export const rowOf = (entry: OutputEntry): TailRow => ({ kind: 'entry', entry, text: JSON.stringify(entry.payload) })

/** Every word stands in the payload's text, the id or `slot:n`; capitals do not matter. Marks of gaps always pass. */
export function filtered(rows: readonly TailRow[], filter: string): readonly TailRow[] {
  const words = filter
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
  if (words.length === 0) return rows
  return rows.filter((row) => row.kind === 'gap' || matches(row, words))
}

function matches({ entry, text }: Extract<TailRow, { kind: 'entry' }>, words: readonly string[]): boolean {
  const haystack = `${text}\n${entry.id}\nslot:${entry.slot_id} `.toLowerCase()
  return words.every((word) => haystack.includes(word.startsWith('slot:') ? `${word} ` : word))
}
