/**
 * @module dashboard/output/tail-buffer
 * Buffers the rows of a tail: the newest entries of a stream, and a marker where entries are missing. Keeps at most
 * 2,000 rows and 16 million characters and drops the oldest first.
 */
import type { OutputEntry, TailBody } from '../../protocol/index.ts'

export type TailRow =
  | { readonly kind: 'entry'; readonly entry: OutputEntry; readonly text: string }
  /** Entries between its neighbours were popped or trimmed before they could be read. */
  | { readonly kind: 'gap'; readonly before: string }

export interface Tail {
  readonly rows: readonly TailRow[]
  /** ID of the last entry, after which the next read continues; null before the first entry. */
  readonly lastId: string | null
  /** Number of dropped rows. */
  readonly dropped: number
}

export const EMPTY_TAIL: Tail = { rows: [], lastId: null, dropped: 0 }
const MOST_ROWS = 2_000
/** Limits the memory of the tab: a single entry may have up to 1 MB. */
const MOST_CHARACTERS = 16_000_000

/** Appends the entries of a response. Ignores `gap` in the first response, because no rows precede it. */
export function withResponse(tail: Tail, { entries, gap }: TailBody): Tail {
  const [first] = entries
  if (first === undefined) return tail
  const mark: readonly TailRow[] = gap && tail.lastId !== null ? [{ kind: 'gap', before: first.id }] : []
  const rows = [...tail.rows, ...mark, ...entries.map(rowOf)]
  const extra = rows.length - rowsToKeep(rows)
  return { rows: rows.slice(extra), lastId: entries.at(-1)?.id ?? null, dropped: tail.dropped + extra }
}

/** Number of the newest rows to keep, at least one. */
function rowsToKeep(rows: readonly TailRow[]): number {
  let count = 0
  let characters = 0
  for (const row of rows.toReversed()) {
    characters += row.kind === 'entry' ? row.text.length : 0
    if (count === MOST_ROWS || (count > 0 && characters > MOST_CHARACTERS)) return count
    count += 1
  }
  return count
}

export const rowOf = (entry: OutputEntry): TailRow => ({ kind: 'entry', entry, text: JSON.stringify(entry.payload) })

/** Keeps rows that contain every word in payload, ID or `slot:n`, ignoring case. Gap markers are always kept. */
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
