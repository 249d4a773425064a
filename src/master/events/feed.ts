/**
 * @module master/events/feed
 * What all event streams of this master share: the ring of the newest events, the pieces of it that readers at one place
 * with one view send, the way back into the log for those who resume, and the wake-up when something came.
 *
 *   event log ──told──▶ ring ──piece, made once──▶ every reader of that view
 *        └────read, for a resume further back──────▶ one reader
 *
 * On the wire an id is `<begin of the epoch>.<id in the log>`: another epoch means that the store lost something, so its
 * ids resume nowhere, and whoever listens is told `reset` (D15, D46).
 *
 * Wake-ups are 50 ms apart at least, 200 ms with a thousand readers: under a storm of events they get larger pieces
 * instead of more of them. A piece ends where a wake-up found the end of the ring, so that readers who have fallen behind
 * by different times still send the same ones.
 */
import { Buffer } from 'node:buffer'
import { toSeconds } from '../../protocol/index.ts'
import type { Cancel } from '../../runtime/index.ts'
import type { LoggedEvent } from '../../storage/index.ts'
import type { MasterDeps } from '../deps.ts'
import { Ring, type Entry } from './ring.ts'

const WAKE_EVERY_MS = 50
const WAKE_MS_A_READER = 0.2
const LOOK_AT_EPOCH_EVERY_MS = 1_000
const EPOCH_CHARS = 8
/** Events a read of the log brings; reads at a time, so that a thousand who resume at once do not hold a thousand pages. */
const PAGE = 500
const READS_AT_ONCE = 8
/** What is written at once, so that a reader that stops reading holds no more than that. */
const PIECE_CHARS = 65_536
/** Kept for readers that are yet to come to their place. */
const MAX_PIECES_BYTES = 16 * 1_048_576
const MAX_PIECES = 10_000
const NOTHING = Buffer.alloc(0)

/** Whether events of this scope are shown; `key` is the same for all who see the same. */
export interface View {
  readonly key: string
  readonly sees: (scope: string) => boolean
}
/** Bytes for the wire, and the place behind them. */
export interface Piece {
  readonly bytes: Buffer
  readonly next: number
}

export class Feed {
  readonly #deps: MasterDeps
  /** Called when something came. */
  readonly #wakes = new Set<() => void>()
  /** By place and view; the oldest go first. */
  readonly #pieces = new Map<string, Piece>()
  #piecesBytes = 0
  /** The ends of the ring at the last wake-ups: up to the newest one readers may send. */
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
      backend.events.onAppend((events) => this.#heard(events)),
      timers.every(LOOK_AT_EPOCH_EVERY_MS, () => this.#lookAtEpoch()),
    ]
  }

  stop(): void {
    for (const stop of this.#stops) stop()
  }

  /** The point up to which everything was told. */
  get newestId(): string {
    return this.#wireId(this.#deps.backend.events.newest())
  }

  get end(): number {
    return this.#ring.end
  }

  /** An event that says: what came before is unknown, look at everything anew. */
  resetText(): string {
    return wireText(this.newestId, 'reset', JSON.stringify({ ts: toSeconds(this.#deps.clock.wallMs()) }))
  }

  /** Calls `wake` whenever something came; answers how to stop. */
  onNews(wake: () => void): Cancel {
    this.#wakes.add(wake)
    return () => void this.#wakes.delete(wake)
  }

  placeBehind(id: string): number | undefined {
    return this.#ring.placeBehind(id)
  }

  /** What a reader at this place sends next; null when its place is lost. */
  piece(place: number, { key, sees }: View): Piece | null {
    const name = `${place} ${key}`
    if (place < this.#ring.first) return null
    const known = this.#pieces.get(name)
    if (known !== undefined) return known
    const end = this.#ends.find((each) => each > place)
    if (end === undefined) return { bytes: NOTHING, next: place }
    const { text, taken } = pieceOf(this.#ring.between(place, end), sees)
    const made = { bytes: Buffer.from(text), next: place + taken }
    this.#keep(name, made)
    return made
  }

  /** The log behind an id of the wire, as pieces of text, and the last id in them. @throws FleetError when the store is away. */
  async read(
    after: string,
    { sees }: View,
  ): Promise<{ readonly texts: readonly string[]; readonly last: string | null } | 'reset'> {
    const prefix = this.#wireId('')
    if (!after.startsWith(prefix)) return 'reset'
    const events = await this.#inTurn(() => this.#deps.backend.events.read(after.slice(prefix.length), PAGE))
    if (events === 'reset') return 'reset'
    const texts: string[] = []
    let rest: readonly Entry[] = events.map((event) => this.#entryOf(event))
    const last = rest.at(-1)?.id ?? null
    while (rest.length > 0) {
      const { text, taken } = pieceOf(rest, sees)
      texts.push(text)
      rest = rest.slice(taken)
    }
    return { texts, last }
  }

  #keep(name: string, piece: Piece): void {
    this.#pieces.set(name, piece)
    this.#piecesBytes += piece.bytes.length
    for (const [oldest, { bytes }] of this.#pieces) {
      if (this.#piecesBytes <= MAX_PIECES_BYTES && this.#pieces.size <= MAX_PIECES) return
      this.#pieces.delete(oldest)
      this.#piecesBytes -= bytes.length
    }
  }

  async #inTurn<T>(read: () => Promise<T>): Promise<T> {
    if (this.#reading >= READS_AT_ONCE) await new Promise<void>((resolve) => void this.#turns.push(resolve))
    else this.#reading += 1
    try {
      return await read()
    } finally {
      const next = this.#turns.shift()
      if (next === undefined) this.#reading -= 1
      else next()
    }
  }

  #heard(events: readonly LoggedEvent[]): void {
    for (const event of events) this.#push(this.#entryOf(event))
  }

  /** A master that missed events it cannot read says so in an event of the log's own, which has no data. */
  #entryOf({ id, name, scope, data }: LoggedEvent): Entry {
    const wireId = this.#wireId(id)
    return { id: wireId, scope, text: name === 'reset' ? this.resetText() : wireText(wireId, name, data) }
  }

  #lookAtEpoch(): void {
    const { current } = this.#deps.epoch
    if (current === this.#epoch) return
    this.#epoch = current
    this.#push({ id: this.newestId, scope: '*', text: this.resetText() })
  }

  #push(entry: Entry): void {
    this.#ring.push(entry)
    if (this.#isWakeDue) return
    this.#isWakeDue = true
    const waitMs =
      this.#wokenMs + Math.max(WAKE_EVERY_MS, WAKE_MS_A_READER * this.#wakes.size) - this.#deps.clock.monotonicMs()
    if (waitMs > 0) this.#deps.timers.after(waitMs, () => this.#wake())
    else queueMicrotask(() => this.#wake()) // Together with what the same append brings.
  }

  #wake(): void {
    this.#isWakeDue = false
    this.#wokenMs = this.#deps.clock.monotonicMs()
    this.#ends = [...this.#ends.filter((end) => end > this.#ring.first), this.#ring.end]
    for (const wake of this.#wakes) wake()
  }

  #wireId(id: string): string {
    return `${this.#epoch.slice(0, EPOCH_CHARS)}.${id}`
  }
}

/** Server-sent events of those that are seen, up to the size of a piece, and how many were looked at. */
function pieceOf(
  entries: readonly Entry[],
  sees: (scope: string) => boolean,
): { readonly text: string; readonly taken: number } {
  let text = ''
  let taken = 0
  for (const { scope, text: own } of entries) {
    const isSeen = scope === '*' || sees(scope)
    if (isSeen && text !== '' && text.length + own.length > PIECE_CHARS) break
    if (isSeen) text += own
    taken += 1
  }
  return { text, taken }
}

/** Data is JSON, so it holds no line break. */
function wireText(id: string, name: string, data: string): string {
  return `id: ${id}\nevent: ${name}\ndata: ${data}\n\n`
}
