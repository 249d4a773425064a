/**
 * @module master/events/feed
 * Shares the newest events among all event streams of this master: a ring of events, the chunks that readers at the
 * same position with the same view send, reads of the log for clients that resume, and wake-ups when events arrive.
 *
 *   event log ──append──▶ ring ──chunk, rendered once──▶ every reader with that view
 *        └────read, for a resume further back──────────▶ one reader
 *
 * On the wire an id is `<start of the epoch>.<id in the log>`. Another epoch means that the store lost changes: its ids
 * cannot be resumed, and every client receives `reset` (D15, D46).
 *
 * An entry of the log with several events is sent as single events, or as one event to readers that ask for it (D135).
 *
 * Wake-ups are at least 50 ms apart, 200 ms with a thousand readers, so a storm of events makes chunks larger instead
 * of more numerous. A chunk ends where the ring ended at a wake-up. So readers that are behind by different amounts
 * still send the same chunks.
 */
import { Buffer } from 'node:buffer'
import { batchNameOf } from '../../protocol/event-stream/index.ts'
import { toSeconds } from '../../protocol/index.ts'
import type { Cancel } from '../../runtime/index.ts'
import { eventsIn, itemsOf, type LoggedEvent } from '../../storage/index.ts'
import type { MasterDeps } from '../deps.ts'
import { isOfWorkers, workerIn } from './changed-workers.ts'
import { Ring, type RingEvent } from './ring.ts'

const WAKE_EVERY_MS = 50
const WAKE_MS_PER_READER = 0.2
const CHECK_EPOCH_EVERY_MS = 1_000
const EPOCH_CHARS = 8
/**
 * Events per read of the log, and the limit of concurrent reads: a thousand resuming clients do not load a thousand
 * pages.
 */
const PAGE = 500
const MAX_CONCURRENT_READS = 8
/** The largest chunk that is written: what a client that stops reading can keep in memory. */
const CHUNK_CHARS = 65_536
/** Limits of the chunks that are kept for readers that have not reached them. */
const MAX_CHUNKS_BYTES = 16 * 1_048_576
const MAX_CHUNKS = 10_000
const NOTHING = Buffer.alloc(0)

/** Whether events of a scope are shown, and how. Readers with the same `key` receive the same text. */
export interface View {
  readonly key: string
  readonly sees: (scope: string) => boolean
  /** Whether events of workers are left out. */
  readonly hidesWorkers?: boolean
  /** Whether events of this worker are sent; left out if those of all workers are. */
  readonly seesWorker?: (scope: string, worker: string) => boolean
  /** Whether events that were recorded together are sent as one. */
  readonly isBatched: boolean
}
/** Bytes for the wire, and the position after them. */
export interface Chunk {
  readonly bytes: Buffer
  readonly next: number
}

/** An entry of the log with its id on the wire. */
export type Entry = Pick<RingEvent, 'id'> & { readonly logged: LoggedEvent }

const hasEntry = (entry: RingEvent): entry is RingEvent & Entry => entry.logged !== null

/** One page of the log: events as chunks of text, and the last id in them (`null` if there is none). */
type FeedPage =
  | { readonly kind: 'page'; readonly texts: readonly string[]; readonly last: string | null }
  | { readonly kind: 'reset' }

export class Feed {
  readonly #deps: MasterDeps
  /** Called when events arrive. */
  readonly #wakes = new Set<() => void>()
  /** By position and view, the oldest first. */
  readonly #chunks = new Map<string, Chunk>()
  #chunksBytes = 0
  /** The ends of the ring at the last wake-ups. Readers send up to the newest of them. */
  #ends: number[] = []
  readonly #turns: (() => void)[] = []
  #ring = new Ring('')
  #epoch = ''
  #reading = 0
  #wokenMs = -Infinity
  #isWakeDue = false
  #stops: Cancel[] = []

  constructor(deps: MasterDeps) {
    this.#deps = deps
  }

  start(): void {
    const { backend, timers, epoch } = this.#deps
    this.#epoch = epoch.current
    this.#ring = new Ring(this.newestId)
    this.#stops = [
      backend.events.onAppend((events) => this.#onAppended(events)),
      timers.every(CHECK_EPOCH_EVERY_MS, () => this.#checkEpoch()),
    ]
  }

  stop(): void {
    for (const stop of this.#stops) stop()
  }

  /** The id of the newest event. */
  get newestId(): string {
    return this.#wireId(this.#deps.backend.events.newest())
  }

  get end(): number {
    return this.#ring.end
  }

  /** An event that makes the client reload everything, because events before it may be missing. */
  resetText(): string {
    return wireText(this.newestId, 'reset', JSON.stringify({ ts: toSeconds(this.#deps.clock.wallMs()) }))
  }

  /** Calls `wake` whenever events arrive. @returns a function that unsubscribes. */
  onNews(wake: () => void): Cancel {
    this.#wakes.add(wake)
    return () => void this.#wakes.delete(wake)
  }

  positionAfter(id: string): number | undefined {
    return this.#ring.positionAfter(id)
  }

  /** The chunk that a reader at this position sends next; null if the ring no longer has the position. */
  chunk(position: number, view: View): Chunk | null {
    const name = `${position} ${view.key}`
    if (position < this.#ring.first) return null
    const known = this.#chunks.get(name)
    if (known !== undefined) return known
    const end = this.#ends.find((each) => each > position)
    if (end === undefined) return { bytes: NOTHING, next: position }
    const { text, taken } = chunkOf(this.#ring.between(position, end), view, this.#cut)
    const made = { bytes: bytesOf(text), next: position + taken }
    this.#keep(name, made)
    return made
  }

  /**
   * Reads one page of the log.
   * @param after The id on the wire of the last event that the client has.
   * @returns the page; `reset` if the log cannot be resumed at that id.
   * @throws {FleetError} if the store is unavailable.
   */
  async read(after: string, view: View): Promise<FeedPage> {
    const prefix = this.#wireId('')
    if (!after.startsWith(prefix)) return { kind: 'reset' }
    const read = await this.#inTurn(() => this.#deps.backend.events.read(after.slice(prefix.length), PAGE))
    if (read.kind === 'reset') return read
    const texts: string[] = []
    let rest: readonly RingEvent[] = read.events.map((event) => this.#entryOf(event))
    const last = rest.at(-1)?.id ?? null
    while (rest.length > 0) {
      const { text, taken } = chunkOf(rest, view, this.#cut)
      texts.push(text)
      rest = rest.slice(taken)
    }
    return { kind: 'page', texts, last }
  }

  /**
   * Reads entries of the log after an id, from the ring if it has them.
   * @param after The id of an event on the wire.
   * @returns null if the log cannot be resumed at that id, or misses changes after it. `hasMore`: there may be more.
   * @throws {FleetError} if the store is unavailable.
   */
  async entriesAfter(after: string): Promise<{ readonly entries: readonly Entry[]; readonly hasMore: boolean } | null> {
    const position = this.positionAfter(after)
    if (position !== undefined) {
      const entries = this.#ring.between(position, this.#ring.end)
      return entries.every(hasEntry) ? { entries, hasMore: false } : null
    }
    const prefix = this.#wireId('')
    if (!after.startsWith(prefix)) return null
    const read = await this.#inTurn(() => this.#deps.backend.events.read(after.slice(prefix.length), PAGE))
    if (read.kind === 'reset' || read.events.some(({ name }) => name === 'reset')) return null
    const entries = read.events.map((logged) => ({ id: this.#wireId(logged.id), logged }))
    return { entries, hasMore: entries.length >= PAGE }
  }

  #keep(name: string, chunk: Chunk): void {
    this.#chunks.set(name, chunk)
    this.#chunksBytes += chunk.bytes.length
    this.#dropWhile(() => this.#chunksBytes > MAX_CHUNKS_BYTES || this.#chunks.size > MAX_CHUNKS)
  }

  /** Drops chunks, the oldest first, while `isDue` holds for the oldest one. */
  #dropWhile(isDue: (oldest: Chunk) => boolean): void {
    for (const [name, chunk] of this.#chunks) {
      if (!isDue(chunk)) return
      this.#chunks.delete(name)
      this.#chunksBytes -= chunk.bytes.length
    }
  }

  async #inTurn<T>(read: () => Promise<T>): Promise<T> {
    if (this.#reading >= MAX_CONCURRENT_READS) await new Promise<void>((resolve) => void this.#turns.push(resolve))
    else this.#reading += 1
    try {
      return await read()
    } finally {
      const next = this.#turns.shift()
      if (next === undefined) this.#reading -= 1
      else next()
    }
  }

  #onAppended(events: readonly LoggedEvent[]): void {
    for (const event of events) this.#push(this.#entryOf(event))
  }

  /** An event `reset` in the log has no data: its master missed events that it cannot read. */
  #entryOf(event: LoggedEvent): RingEvent {
    const { name, scope } = event
    const id = this.#wireId(event.id)
    if (name === 'reset') return this.#resetEntry(id, scope)
    const text = eventsIn(event)
      .map((each) => wireText(this.#wireId(each.id), name, each.data))
      .join('')
    return { id, scope, text, batchedText: event.more === undefined ? text : batchedText(id, event), logged: event }
  }

  readonly #cut = (event: LoggedEvent, { seesWorker = () => true, isBatched }: View): string => {
    const { name, scope } = event
    const shown = eventsIn(event).filter(({ data }) => seesWorker(scope, workerIn(data)))
    const [first, ...rest] = shown.map(({ data }) => data)
    if (first === undefined) return ''
    if (isBatched && event.more !== undefined)
      return batchedText(this.#wireId(event.id), { ...event, data: first, more: rest })
    return shown.map(({ id, data }) => wireText(this.#wireId(id), name, data)).join('')
  }

  #resetEntry(id: string, scope: string): RingEvent {
    const text = this.resetText()
    return { id, scope, text, batchedText: text, logged: null }
  }

  #checkEpoch(): void {
    const { current } = this.#deps.epoch
    if (current === this.#epoch) return
    this.#epoch = current
    this.#push(this.#resetEntry(this.newestId, '*'))
  }

  #push(entry: RingEvent): void {
    this.#ring.push(entry)
    if (this.#isWakeDue) return
    this.#isWakeDue = true
    const waitMs =
      this.#wokenMs + Math.max(WAKE_EVERY_MS, WAKE_MS_PER_READER * this.#wakes.size) - this.#deps.clock.monotonicMs()
    if (waitMs > 0) this.#deps.timers.after(waitMs, () => this.#wake())
    else queueMicrotask(() => this.#wake()) // After all events of the same append.
  }

  #wake(): void {
    this.#isWakeDue = false
    this.#wokenMs = this.#deps.clock.monotonicMs()
    this.#ends = [...this.#ends.filter((end) => end > this.#ring.first), this.#ring.end]
    this.#dropWhile(({ next }) => next <= this.#ring.first) // No reader may send events that the ring has dropped.
    for (const wake of this.#wakes) wake()
  }

  #wireId(id: string): string {
    return `${this.#epoch.slice(0, EPOCH_CHARS)}.${id}`
  }
}

/**
 * Joins the visible events up to the size of a chunk.
 * @param cut Renders the events of an entry that a view with `seesWorker` shows; empty if there are none.
 * @returns the text, and how many entries it covers.
 */
function chunkOf(
  entries: readonly RingEvent[],
  view: View,
  cut: (event: LoggedEvent, view: View) => string,
): { readonly text: string; readonly taken: number } {
  const { sees, hidesWorkers = false, seesWorker, isBatched } = view
  let text = ''
  let taken = 0
  for (const { scope, logged, ...texts } of entries) {
    const isOfWorker = logged !== null && isOfWorkers(logged)
    const isSeen = (scope === '*' || sees(scope)) && !(hidesWorkers && isOfWorker)
    const whole = isBatched ? texts.batchedText : texts.text
    const own = isSeen && isOfWorker && seesWorker !== undefined ? cut(logged, view) : whole
    if (isSeen && text !== '' && text.length + own.length > CHUNK_CHARS) break
    if (isSeen) text += own
    taken += 1
  }
  return { text, taken }
}

/**
 * Encodes a chunk in memory of its own. `Buffer.from` would take it from the pool of Node, where one small chunk keeps
 * 64 KiB in memory.
 */
function bytesOf(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text))
  bytes.write(text)
  return bytes
}

/** Formats the events of an entry as one event. Their data is JSON, and is copied as it is. */
function batchedText(wireId: string, event: LoggedEvent): string {
  const data = `{"type":${JSON.stringify(event.scope)},"items":[${itemsOf(event).join(',')}]}`
  return wireText(wireId, batchNameOf(event.name), data)
}

/** Formats a server-sent event. `data` is JSON and therefore contains no line break. */
function wireText(id: string, name: string, data: string): string {
  return `id: ${id}\nevent: ${name}\ndata: ${data}\n\n`
}
