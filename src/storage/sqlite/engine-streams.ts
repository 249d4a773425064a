/**
 * @module storage/sqlite/engine-streams
 * Output streams as segments: what one push brings, at most 256 entries a row. `head` and `next` number the entries;
 * pop and trim move `head` and delete the segments that lie wholly before it, so no entry is ever rewritten.
 *
 *      deleted   │ lowest segment │ …             │ newest segment
 *   ─────────────┼───────┬────────┼───────────────┼────────────────┐
 *                first   head     first                            next
 */
import { MAX_ANSWER_BYTES, STREAM_MAX_AGE_MS, STREAM_MAX_BYTES, STREAM_MAX_ENTRIES } from '../../protocol/index.ts'
import type { StreamEntry, Streams } from '../index.ts'
import { fitting } from './answer.ts'
import type { Sync } from './calls.ts'
import type { Database } from './driver.ts'
import { KIND, type Names } from './names.ts'
import type { Kept, Transaction } from './transaction.ts'

const SEGMENT_ENTRIES = 256
/** A producer is one life of a master: a push that is repeated comes within seconds. */
const PRODUCER_KEPT_MS = 86_400_000
/** What one step of a trim removes. */
const TRIM_BYTES = 16 * 1_048_576

interface Stream extends Kept {
  readonly type: number
  head: number
  next: number
  /** Of its segments. */
  bytes: number
  /** Of the newest entry, and of the newest one before the head. */
  lastMs: number
  goneMs: number
}
interface Segment {
  readonly first: number
  readonly n: number
  readonly ms: number
  readonly body: string
}

/** `<flush ms, 13 digits>-<sequence, 16 digits>`: grows, sorts as text. */
const idOf = (ms: number, sequence: number): string =>
  `${String(ms).padStart(13, '0')}-${String(sequence).padStart(16, '0')}`

/** The sequence of an id; null for text that is none. */
function sequenceOf(id: string): number | null {
  const digits = /^\d{13,16}-(?<sequence>\d{16})$/.exec(id)?.groups?.['sequence']
  return digits === undefined ? null : Number(digits)
}

const textOf = ({ entry }: StreamEntry): number => entry.length

export function streamsOf(
  db: Database,
  txn: Transaction,
  names: Names,
): Sync<Streams> & { prune(limit: number): number } {
  const insert = db.prepare<[number, number, number, number, number, string]>(
    'INSERT INTO segment(type, first, n, ms, bytes, body) VALUES(?, ?, ?, ?, ?, ?)',
  )
  const lowest = db.prepare<[number], Pick<Segment, 'first' | 'n' | 'ms'> & { bytes: number }>(
    'SELECT first, n, ms, bytes FROM segment WHERE type = ? ORDER BY first',
  )
  const from = db.prepare<
    [{ type: number; at: number }],
    Segment
  >(`SELECT first, n, ms, body FROM segment WHERE type = :type
    AND first >= coalesce((SELECT max(first) FROM segment WHERE type = :type AND first <= :at), 0) ORDER BY first`)
  const around = db.prepare<[number, number], Pick<Segment, 'ms'>>(
    'SELECT ms FROM segment WHERE type = ? AND first <= ? ORDER BY first DESC LIMIT 1',
  )
  const fromTop = db.prepare<[number], Pick<Segment, 'first'> & { bytes: number }>(
    'SELECT first, bytes FROM segment WHERE type = ? ORDER BY first DESC',
  )
  const bodyAt = db.prepare<[number, number], string>('SELECT body FROM segment WHERE type = ? AND first = ?').pluck()
  const drop = db
    .prepare<[{ type: number; head: number }], number>(
      'DELETE FROM segment WHERE type = :type AND first < :head AND first + n <= :head RETURNING bytes',
    )
    .pluck()
  const save = db.prepare<
    [number, number, number, number, number]
  >(`INSERT INTO stream(type, head, next, last_ms, gone_ms) VALUES(?, ?, ?, ?, ?)
    ON CONFLICT(type) DO UPDATE SET head = excluded.head, next = excluded.next, last_ms = excluded.last_ms, gone_ms = excluded.gone_ms`)
  const seqOf = db.prepare<[number, string], number>('SELECT seq FROM producer WHERE type = ? AND producer = ?').pluck()
  const saveSeq = db.prepare<[number, string, number, number]>(
    'INSERT INTO producer(type, producer, seq, ms) VALUES(?, ?, ?, ?) ON CONFLICT(type, producer) DO UPDATE SET seq = excluded.seq, ms = excluded.ms',
  )
  const forgetProducers = db.prepare<[number, number]>('DELETE FROM producer WHERE ms <= ? LIMIT ?')
  const streams = new Map<number, Stream>()
  for (const row of db
    .prepare<[], Omit<Stream, 'kept'>>(
      `SELECT type, head, next, last_ms AS lastMs, gone_ms AS goneMs,
    coalesce((SELECT sum(bytes) FROM segment WHERE segment.type = stream.type), 0) AS bytes FROM stream`,
    )
    .iterate())
    streams.set(row.type, { ...row, kept: 0 })

  function find(typeName: string): Readonly<Stream> | undefined {
    const type = names.find(KIND.type, typeName)
    return type === undefined ? undefined : streams.get(type)
  }
  function change(type: number): Stream {
    let stream = streams.get(type)
    if (stream === undefined) {
      stream = { type, head: 1, next: 1, bytes: 0, lastMs: 0, goneMs: 0, kept: 0 }
      streams.set(type, stream)
      txn.onRollback(() => void streams.delete(type))
    }
    const changed = stream
    txn.keep(changed, () => void save.run(changed.type, changed.head, changed.next, changed.lastMs, changed.goneMs))
    return changed
  }
  /** At most `n` entries from `at` on, as many as fit into `bytes`. */
  function read({ type }: Readonly<Stream>, at: number, n: number, bytes: number): StreamEntry[] {
    function* onwards(): Generator<StreamEntry> {
      for (const segment of from.iterate({ type, at })) {
        const entries = JSON.parse(segment.body) as string[]
        for (let i = Math.max(0, at - segment.first); i < entries.length; i += 1)
          yield { id: idOf(segment.ms, segment.first + i), entry: entries[i] ?? '' }
      }
    }
    return fitting(onwards(), textOf, bytes, n)
  }
  /**
   * The number of the entry where the newest `n` begin, or as many of them as fit into 32 MiB. Reads the body of one
   * segment at most.
   */
  function firstOfNewest({ type, head, next }: Readonly<Stream>, n: number): number {
    const start = Math.max(head, next - n)
    let left = MAX_ANSWER_BYTES
    let end = next
    let first = next
    for (const segment of fromTop.iterate(type)) {
      first = segment.first
      if (segment.bytes > left || first <= start) break
      left -= segment.bytes
      end = first
    }
    if (end === start || first === end) return start
    const entries = JSON.parse(bodyAt.get(type, first) ?? '[]') as string[]
    const newestFirst = entries.slice(Math.max(0, start - first), end - first).toReversed()
    if (end < next && (newestFirst[0]?.length ?? 0) > left) return end
    return end - fitting(newestFirst, (entry) => entry.length, left).length
  }
  /** The number of the first entry whose id sorts behind `after`, which may be any text; `next` where there is none. */
  function firstBehind({ type, head, next }: Readonly<Stream>, after: string): number {
    const last = sequenceOf(after) ?? 0
    const segment = last < head || last >= next ? undefined : around.get(type, last)
    // Nearly always; the rest is for ids of another life.
    if (segment !== undefined && idOf(segment.ms, last) === after) return last + 1
    for (const { first, n, ms } of lowest.iterate(type)) {
      for (let at = idOf(ms, first + n - 1) <= after ? first + n : Math.max(head, first); at < first + n; at += 1)
        if (idOf(ms, at) > after) return at
    }
    return next
  }
  function moveHead(stream: Stream, head: number): void {
    stream.goneMs = around.get(stream.type, head - 1)?.ms ?? 0
    stream.head = head
    for (const bytes of drop.all({ type: stream.type, head })) stream.bytes -= bytes
  }
  /**
   * Drops entries for their age, their number or their bytes, those from number `keep` on excepted.
   * @returns how many, and whether `limit` bytes were reached before the end.
   */
  function trim(
    stream: Stream,
    maxBytes: number,
    { keep = Infinity, limit = Infinity } = {},
  ): { readonly trimmed: number; readonly more: boolean } {
    const before = stream.head
    let head = Math.max(before, stream.next - STREAM_MAX_ENTRIES)
    let gone = 0
    let more = false
    for (const { first, n, ms, bytes } of lowest.iterate(stream.type)) {
      const isLarge = stream.bytes - gone > maxBytes && first < keep
      if (first + n > head && ms > txn.nowMs - STREAM_MAX_AGE_MS && !isLarge) break
      more = gone >= limit
      if (more) break
      head = Math.max(head, first + n)
      gone += bytes
    }
    if (head > before) moveHead(stream, head)
    return { trimmed: head - before, more }
  }
  function append(stream: Stream, entries: readonly string[]): void {
    stream.lastMs = Math.max(stream.lastMs, txn.nowMs)
    for (let at = 0; at < entries.length; at += SEGMENT_ENTRIES) {
      const part = entries.slice(at, at + SEGMENT_ENTRIES)
      const body = JSON.stringify(part)
      insert.run(stream.type, stream.next, part.length, stream.lastMs, body.length, body)
      stream.bytes += body.length
      stream.next += part.length
    }
  }
  return {
    push(typeName, producer, seq, entries) {
      const type = names.number(KIND.type, typeName)
      const stream = change(type)
      const known = seqOf.get(type, producer)
      if (known !== undefined && seq <= known) return { length: stream.next - stream.head, trimmed: 0 }
      saveSeq.run(type, producer, seq, txn.nowMs)
      append(stream, entries)
      const { trimmed } = trim(stream, STREAM_MAX_BYTES, { keep: stream.next - entries.length })
      return { length: stream.next - stream.head, trimmed }
    },
    tail(typeName, after, n, bytes = MAX_ANSWER_BYTES) {
      const stream = find(typeName)
      if (stream === undefined) return { entries: [], gap: after !== null }
      if (after === null) return { entries: read(stream, firstOfNewest(stream, n), n, bytes), gap: false }
      const at = firstBehind(stream, after)
      return { entries: read(stream, at, n, bytes), gap: at === stream.head && after !== idOf(stream.goneMs, at - 1) }
    },
    peek(typeName, n, bytes = MAX_ANSWER_BYTES) {
      const stream = find(typeName)
      return stream === undefined ? [] : read(stream, stream.head, n, bytes)
    },
    pop(typeName, n, bytes = MAX_ANSWER_BYTES) {
      const known = find(typeName)
      if (known === undefined || known.head === known.next) return []
      const stream = change(known.type)
      const entries = read(stream, stream.head, n, bytes)
      moveHead(stream, stream.head + entries.length)
      return entries
    },
    length: (types) =>
      types.map((type) => {
        const stream = find(type)
        return stream === undefined ? 0 : stream.next - stream.head
      }),
    bytes: (types) => types.map((type) => find(type)?.bytes ?? 0),
    trim(typeName, maxBytes) {
      const known = find(typeName)
      if (known === undefined || known.head === known.next) return { trimmed: 0, more: false }
      const [oldest] = [lowest.get(known.type)]
      const isOver = known.bytes > maxBytes || (oldest !== undefined && oldest.ms <= txn.nowMs - STREAM_MAX_AGE_MS)
      return isOver ? trim(change(known.type), maxBytes, { limit: TRIM_BYTES }) : { trimmed: 0, more: false }
    },
    prune: (limit) => forgetProducers.run(txn.nowMs - PRODUCER_KEPT_MS, limit).changes,
  }
}
