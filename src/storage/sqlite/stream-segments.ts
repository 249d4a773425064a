/**
 * @module storage/sqlite/stream-segments
 * StreamSegments reads and writes the rows of streams. A row is a segment: what one push brings, at most 256 entries.
 * `head` and `next` number the entries; moving `head` deletes the segments that lie wholly before it, so no entry is
 * ever rewritten.
 *
 *      deleted   │ lowest segment │ …             │ newest segment
 *   ─────────────┼───────┬────────┼───────────────┼────────────────┐
 *                first   head     first                            next
 */
import { MAX_RESPONSE_BYTES, STREAM_MAX_AGE_MS, STREAM_MAX_ENTRIES } from '../../protocol/index.ts'
import { takeWithin, type StreamEntry } from '../index.ts'
import type { Database } from './driver.ts'
import type { EngineDeps } from './engine-deps.ts'
import type { StreamHead } from './stream-heads.ts'
import type { Transaction } from './transaction.ts'

const SEGMENT_ENTRIES = 256

interface Segment {
  /** Number of its first entry. */
  readonly first: number
  /** Number of its entries. */
  readonly n: number
  readonly ms: number
  readonly bytes: number
  readonly body: string
}

/** Makes the id of an entry: `<flush ms, 13 digits>-<number, 16 digits>`. It grows, and sorts as text. */
export function entryId(ms: number, number: number): string {
  return `${String(ms).padStart(13, '0')}-${String(number).padStart(16, '0')}`
}

/** The number in an id; 0 for text that is no id. */
function numberIn(id: string): number {
  return Number(/^\d{13,16}-(?<number>\d{16})$/.exec(id)?.groups?.['number'] ?? 0)
}

const entriesOf = (body: string): readonly string[] => JSON.parse(body) as string[]
const charsOf = (entry: string): number => entry.length

function statementsOf(db: Database) {
  return {
    insert: db.prepare<[number, number, number, number, number, string]>(
      'INSERT INTO segment(type, first, n, ms, bytes, body) VALUES(?, ?, ?, ?, ?, ?)',
    ),
    fromLowest: db.prepare<[number], Omit<Segment, 'body'>>(
      'SELECT first, n, ms, bytes FROM segment WHERE type = ? ORDER BY first',
    ),
    fromHighest: db.prepare<[number], Pick<Segment, 'first' | 'bytes'>>(
      'SELECT first, bytes FROM segment WHERE type = ? ORDER BY first DESC',
    ),
    from: db.prepare<[{ type: number; at: number }], Omit<Segment, 'n' | 'bytes'>>(
      `SELECT first, ms, body FROM segment WHERE type = :type
        AND first >= coalesce((SELECT max(first) FROM segment WHERE type = :type AND first <= :at), 0) ORDER BY first`,
    ),
    timeAt: db
      .prepare<[number, number], number>(
        'SELECT ms FROM segment WHERE type = ? AND first <= ? ORDER BY first DESC LIMIT 1',
      )
      .pluck(),
    bodyAt: db.prepare<[number, number], string>('SELECT body FROM segment WHERE type = ? AND first = ?').pluck(),
    removeBefore: db
      .prepare<[{ type: number; head: number }], number>(
        'DELETE FROM segment WHERE type = :type AND first < :head AND first + n <= :head RETURNING bytes',
      )
      .pluck(),
  }
}

/** What a trim may remove. */
export interface TrimBounds {
  /** Older segments are removed while the stream has more bytes. */
  readonly maxBytes: number
  /** Entries from this number on are not removed for their bytes. */
  readonly keepFrom?: number
  /** The trim stops after it has removed this many bytes. */
  readonly maxRemovedBytes?: number
}

export class StreamSegments {
  readonly #txn: Transaction
  readonly #sql: ReturnType<typeof statementsOf>

  constructor({ db, txn }: EngineDeps) {
    this.#txn = txn
    this.#sql = statementsOf(db)
  }

  append(stream: StreamHead, entries: readonly string[]): void {
    stream.lastMs = Math.max(stream.lastMs, this.#txn.nowMs)
    for (let at = 0; at < entries.length; at += SEGMENT_ENTRIES) {
      const part = entries.slice(at, at + SEGMENT_ENTRIES)
      const body = JSON.stringify(part)
      this.#sql.insert.run(stream.type, stream.next, part.length, stream.lastMs, body.length, body)
      stream.bytes += body.length
      stream.next += part.length
    }
  }

  /** At most `n` entries from number `at` on, as many as fit into `bytes`. */
  read(stream: Readonly<StreamHead>, at: number, n: number, bytes: number): readonly StreamEntry[] {
    return takeWithin(this.#entriesFrom(stream, at), ({ entry }) => entry.length, bytes, n)
  }

  /**
   * The number of the entry where the newest `n` begin, or as many of them as fit into 32 MiB. Reads the body of at
   * most one segment.
   */
  firstOfNewest({ type, head, next }: Readonly<StreamHead>, n: number): number {
    const start = Math.max(head, next - n)
    let left = MAX_RESPONSE_BYTES
    let end = next // Segments from this number on fit whole.
    let first = next
    for (const segment of this.#sql.fromHighest.iterate(type)) {
      first = segment.first
      if (segment.bytes > left || first <= start) break
      left -= segment.bytes
      end = first
    }
    if (end === start || first === end) return start
    const entries = entriesOf(this.#sql.bodyAt.get(type, first) ?? '[]')
    const newestFirst = entries.slice(Math.max(0, start - first), end - first).toReversed()
    const isLargerThanRest = (newestFirst[0]?.length ?? 0) > left
    if (end < next && isLargerThanRest) return end
    return end - takeWithin(newestFirst, charsOf, left).length
  }

  /** The number of the first entry whose id sorts behind `after`, which may be any text; `next` if there is none. */
  firstBehind({ type, head, next }: Readonly<StreamHead>, after: string): number {
    const number = numberIn(after)
    const isInStream = number >= head && number < next
    const ms = isInStream ? this.#sql.timeAt.get(type, number) : undefined
    if (ms !== undefined && entryId(ms, number) === after) return number + 1
    // Rare: an id of an earlier life of the store, or one that was removed.
    for (const segment of this.#sql.fromLowest.iterate(type)) {
      const found = firstBehindIn(segment, head, after)
      if (found !== undefined) return found
    }
    return next
  }

  /** Whether the oldest entry has reached its maximum age. */
  isOldestTooOld({ type }: Readonly<StreamHead>): boolean {
    const oldest = this.#sql.fromLowest.get(type)
    return oldest !== undefined && this.#isTooOld(oldest)
  }

  /** Removes the entries before number `head`. */
  moveHead(stream: StreamHead, head: number): void {
    stream.goneMs = this.#sql.timeAt.get(stream.type, head - 1) ?? 0
    stream.head = head
    for (const bytes of this.#sql.removeBefore.all({ type: stream.type, head })) stream.bytes -= bytes
  }

  /**
   * Removes the oldest entries: those beyond the maximum number, the maximum age or `maxBytes`.
   * @returns how many; `more`: `maxRemovedBytes` ended it early.
   */
  trim(
    stream: StreamHead,
    { maxBytes, keepFrom = Infinity, maxRemovedBytes = Infinity }: TrimBounds,
  ): { readonly trimmed: number; readonly more: boolean } {
    const before = stream.head
    let head = Math.max(before, stream.next - STREAM_MAX_ENTRIES)
    let removedBytes = 0
    let more = false
    for (const segment of this.#sql.fromLowest.iterate(stream.type)) {
      const end = segment.first + segment.n
      const isBeyondCount = end <= head
      const isBeyondBytes = stream.bytes - removedBytes > maxBytes && segment.first < keepFrom
      if (!isBeyondCount && !isBeyondBytes && !this.#isTooOld(segment)) break
      more = removedBytes >= maxRemovedBytes
      if (more) break
      head = Math.max(head, end)
      removedBytes += segment.bytes
    }
    if (head > before) this.moveHead(stream, head)
    return { trimmed: head - before, more }
  }

  *#entriesFrom({ type }: Readonly<StreamHead>, at: number): Generator<StreamEntry> {
    for (const { first, ms, body } of this.#sql.from.iterate({ type, at })) {
      const entries = entriesOf(body)
      for (let i = Math.max(0, at - first); i < entries.length; i += 1)
        yield { id: entryId(ms, first + i), entry: entries[i] ?? '' }
    }
  }

  #isTooOld({ ms }: Pick<Segment, 'ms'>): boolean {
    return ms <= this.#txn.nowMs - STREAM_MAX_AGE_MS
  }
}

/** The number of the first entry of the segment that is not removed and whose id sorts behind `after`. */
function firstBehindIn({ first, n, ms }: Omit<Segment, 'body'>, head: number, after: string): number | undefined {
  const end = first + n
  if (entryId(ms, end - 1) <= after) return undefined
  for (let at = Math.max(head, first); at < end; at += 1) if (entryId(ms, at) > after) return at
  return undefined
}
