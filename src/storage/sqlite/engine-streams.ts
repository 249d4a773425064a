/**
 * @module storage/sqlite/engine-streams
 * SqliteStreams keeps the output streams: their entries in segments (stream-segments.ts), and where each stream begins
 * and ends in memory (stream-heads.ts).
 */
import { MAX_RESPONSE_BYTES, STREAM_MAX_BYTES } from '../../protocol/index.ts'
import type { StreamEntry, Streams, Sync } from '../index.ts'
import type { Database } from './driver.ts'
import type { EngineDeps } from './engine-deps.ts'
import { KIND, type Names } from './names.ts'
import { StreamHeads, type StreamHead } from './stream-heads.ts'
import { entryId, StreamSegments } from './stream-segments.ts'
import type { Transaction } from './transaction.ts'

/** A producer is one life of a master: a push that is repeated comes within seconds. */
const PRODUCER_KEPT_MS = 86_400_000
/** What one call of a trim removes. */
const TRIM_BYTES = 16 * 1_048_576

const lengthOf = ({ head, next }: Readonly<StreamHead>): number => next - head

function statementsOf(db: Database) {
  return {
    lastSeq: db.prepare<[number, string], number>('SELECT seq FROM producer WHERE type = ? AND producer = ?').pluck(),
    saveSeq: db.prepare<[number, string, number, number]>(
      `INSERT INTO producer(type, producer, seq, ms) VALUES(?, ?, ?, ?) ON CONFLICT(type, producer)
        DO UPDATE SET seq = excluded.seq, ms = excluded.ms`,
    ),
    forgetProducers: db.prepare<[number, number]>('DELETE FROM producer WHERE ms <= ? LIMIT ?'),
  }
}

export class SqliteStreams implements Sync<Streams> {
  readonly #txn: Transaction
  readonly #names: Names
  readonly #heads: StreamHeads
  readonly #segments: StreamSegments
  readonly #sql: ReturnType<typeof statementsOf>

  constructor(deps: EngineDeps) {
    this.#txn = deps.txn
    this.#names = deps.names
    this.#heads = new StreamHeads(deps)
    this.#segments = new StreamSegments(deps)
    this.#sql = statementsOf(deps.db)
  }

  push(
    typeName: string,
    producer: string,
    seq: number,
    entries: readonly string[],
  ): { readonly length: number; readonly trimmed: number } {
    const type = this.#names.number(KIND.type, typeName)
    const stream = this.#heads.change(type)
    const lastSeq = this.#sql.lastSeq.get(type, producer)
    const isRepeat = lastSeq !== undefined && seq <= lastSeq
    if (isRepeat) return { length: lengthOf(stream), trimmed: 0 }
    this.#sql.saveSeq.run(type, producer, seq, this.#txn.nowMs)
    this.#segments.append(stream, entries)
    const keepFrom = stream.next - entries.length
    const { trimmed } = this.#segments.trim(stream, { maxBytes: STREAM_MAX_BYTES, keepFrom })
    return { length: lengthOf(stream), trimmed }
  }

  tail(
    typeName: string,
    after: string | null,
    n: number,
    bytes = MAX_RESPONSE_BYTES,
  ): { readonly entries: readonly StreamEntry[]; readonly gap: boolean } {
    const stream = this.#heads.find(typeName)
    if (stream === undefined) return { entries: [], gap: after !== null }
    if (after === null) {
      const start = this.#segments.firstOfNewest(stream, n)
      return { entries: this.#segments.read(stream, start, n, bytes), gap: false }
    }
    const start = this.#segments.firstBehind(stream, after)
    const isNewestRemoved = after === entryId(stream.goneMs, start - 1)
    const gap = start === stream.head && !isNewestRemoved
    return { entries: this.#segments.read(stream, start, n, bytes), gap }
  }

  peek(typeName: string, n: number, bytes = MAX_RESPONSE_BYTES): readonly StreamEntry[] {
    const stream = this.#heads.find(typeName)
    return stream === undefined ? [] : this.#segments.read(stream, stream.head, n, bytes)
  }

  pop(typeName: string, n: number, bytes = MAX_RESPONSE_BYTES): readonly StreamEntry[] {
    const known = this.#heads.find(typeName)
    if (known === undefined || lengthOf(known) === 0) return []
    const stream = this.#heads.change(known.type)
    const entries = this.#segments.read(stream, stream.head, n, bytes)
    this.#segments.moveHead(stream, stream.head + entries.length)
    return entries
  }

  length(types: readonly string[]): readonly number[] {
    return types.map((type) => {
      const stream = this.#heads.find(type)
      return stream === undefined ? 0 : lengthOf(stream)
    })
  }

  bytes(types: readonly string[]): readonly number[] {
    return types.map((type) => this.#heads.find(type)?.bytes ?? 0)
  }

  trim(typeName: string, maxBytes: number): { readonly trimmed: number; readonly more: boolean } {
    const known = this.#heads.find(typeName)
    const nothing = { trimmed: 0, more: false }
    if (known === undefined || lengthOf(known) === 0) return nothing
    const isTrimmable = known.bytes > maxBytes || this.#segments.isOldestTooOld(known)
    if (!isTrimmable) return nothing
    return this.#segments.trim(this.#heads.change(known.type), { maxBytes, maxRemovedBytes: TRIM_BYTES })
  }

  /** Forgets producers that have not pushed for a day. @returns how many, at most `limit`. */
  prune(limit: number): number {
    return this.#sql.forgetProducers.run(this.#txn.nowMs - PRODUCER_KEPT_MS, limit).changes
  }
}
