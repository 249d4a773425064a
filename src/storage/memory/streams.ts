/**
 * @module storage/memory/streams
 * Implements the output streams: one ring of entries per automation type. Entries are numbered from the start of the
 * stream, so the number of the oldest one shows how many were removed. An id is the arrival in ms (13 digits) and that
 * number (16 digits): it grows, sorts as text and is never reused.
 */
import { MAX_RESPONSE_BYTES, STREAM_MAX_AGE_MS, STREAM_MAX_BYTES, STREAM_MAX_ENTRIES } from '../../protocol/index.ts'
import { BoundedMap } from '../../runtime/index.ts'
import { takeWithin } from '../index.ts'
import { RECORD_OVERHEAD } from './memory-budget.ts'
import { Ring } from './ring.ts'
import { valueOf } from './store.ts'
import type { StreamEntry, Streams, Sync } from '../index.ts'
import type { Store } from './store.ts'

interface NumberedEntry {
  readonly seq: number
  readonly ms: number
  readonly entry: string
}
interface Stream {
  readonly items: Ring<NumberedEntry>
  /** The newest sequence number of each producer, ordered by the last push; one per life of a master. */
  readonly producers: BoundedMap<string, number>
  chars: number
  /** Of the newest entry. */
  seq: number
  ms: number
  /** The id of the entry before the first; null while nothing was removed. */
  gone: string | null
}

/** Lives of masters whose pushes are still recognised as repeats. */
const MAX_PRODUCERS = 1_000

const sizeOf = (entry: string): number => RECORD_OVERHEAD + entry.length
const idOf = ({ ms, seq }: NumberedEntry): string => `${String(ms).padStart(13, '0')}-${String(seq).padStart(16, '0')}`
const charsOf = ({ entry }: NumberedEntry): number => entry.length
const show = (item: NumberedEntry): StreamEntry => ({ id: idOf(item), entry: item.entry })

export class MemoryStreams implements Sync<Streams> {
  readonly #store: Store
  readonly #streams = new Map<string, Stream>()

  constructor(store: Store) {
    this.#store = store
  }

  push(
    type: string,
    producer: string,
    seq: number,
    entries: readonly string[],
  ): { readonly length: number; readonly trimmed: number } {
    const stream = this.#of(type)
    if (seq <= (stream.producers.get(producer) ?? -1)) return { length: stream.items.length, trimmed: 0 }
    const now = this.#store.now()
    let trimmed = 0
    for (
      let head = stream.items.at(0);
      head !== undefined && head.ms <= now - STREAM_MAX_AGE_MS;
      head = stream.items.at(0)
    ) {
      this.#drop(stream)
      trimmed += 1
    }
    this.#store.budget.requireForOptional(entries.reduce((sum, entry) => sum + sizeOf(entry), 0))
    stream.producers.set(producer, seq)
    stream.ms = Math.max(stream.ms, now)
    for (const entry of entries) this.#append(stream, entry)
    for (
      ;
      stream.items.length > STREAM_MAX_ENTRIES ||
      (stream.chars > STREAM_MAX_BYTES && stream.items.length > entries.length);
      trimmed += 1
    )
      this.#drop(stream)
    return { length: stream.items.length, trimmed }
  }

  tail(
    type: string,
    after: string | null,
    n: number,
    bytes = MAX_RESPONSE_BYTES,
  ): { readonly entries: readonly StreamEntry[]; readonly gap: boolean } {
    const stream = this.#of(type)
    const start = after === null ? newest(stream.items, n) : firstBehind(stream.items, after)
    const gap = after !== null && start === 0 && after !== stream.gone
    return { entries: takeWithin(from(stream.items, start), charsOf, bytes, n).map(show), gap }
  }

  peek(type: string, n: number, bytes = MAX_RESPONSE_BYTES): readonly StreamEntry[] {
    return takeWithin(from(this.#of(type).items, 0), charsOf, bytes, n).map(show)
  }

  pop(type: string, n: number, bytes = MAX_RESPONSE_BYTES): readonly StreamEntry[] {
    const stream = this.#of(type)
    const popped = this.peek(type, n, bytes)
    for (let i = 0; i < popped.length; i += 1) this.#drop(stream)
    return popped
  }

  length(types: readonly string[]): readonly number[] {
    return types.map((type) => this.#streams.get(type)?.items.length ?? 0)
  }

  bytes(types: readonly string[]): readonly number[] {
    return types.map((type) => this.#streams.get(type)?.chars ?? 0)
  }

  trim(type: string, maxBytes: number): { readonly trimmed: number; readonly more: boolean } {
    const stream = this.#of(type)
    const before = stream.items.length
    const oldestMs = this.#store.now() - STREAM_MAX_AGE_MS
    for (
      let head = stream.items.at(0);
      head !== undefined && (head.ms <= oldestMs || stream.chars > maxBytes);
      head = stream.items.at(0)
    )
      this.#drop(stream)
    return { trimmed: before - stream.items.length, more: false }
  }

  #append(stream: Stream, entry: string): void {
    stream.seq += 1
    stream.items.push({ seq: stream.seq, ms: stream.ms, entry })
    stream.chars += entry.length
    this.#store.budget.add(sizeOf(entry))
  }

  #drop(stream: Stream): void {
    const item = stream.items.shift()
    if (item === undefined) return
    stream.gone = idOf(item)
    stream.chars -= item.entry.length
    this.#store.budget.add(-sizeOf(item.entry))
  }

  #of(type: string): Stream {
    return valueOf(this.#streams, type, () => ({
      items: new Ring<NumberedEntry>(),
      producers: new BoundedMap<string, number>(MAX_PRODUCERS),
      chars: 0,
      seq: 0,
      ms: 0,
      gone: null,
    }))
  }
}

function* from(items: Ring<NumberedEntry>, start: number): Generator<NumberedEntry> {
  for (let i = start; i < items.length; i += 1) {
    const item = items.at(i)
    if (item !== undefined) yield item
  }
}

/** The index where the newest `n` begin, or as many of them as fit into 32 MiB. */
function newest(items: Ring<NumberedEntry>, n: number): number {
  let chars = 0
  for (let i = items.length - 1; i >= 0; i -= 1) {
    chars += items.at(i)?.entry.length ?? 0
    if (i < items.length - n || (chars > MAX_RESPONSE_BYTES && i < items.length - 1)) return i + 1
  }
  return 0
}

/** The index of the first entry whose id is above `after`, compared as text; the length where there is none. */
function firstBehind(items: Ring<NumberedEntry>, after: string): number {
  let low = 0
  let high = items.length
  while (low < high) {
    const middle = (low + high) >> 1
    const item = items.at(middle)
    if (item !== undefined && idOf(item) <= after) low = middle + 1
    else high = middle
  }
  return low
}
