/**
 * @module master/events/ring
 * Keeps the newest events as text, rendered once for all readers. A reader has no queue but a position in this ring:
 * the number of its next event. A reader that falls behind by more than the ring contains has lost its position.
 */
import { MAX_EVENTS_BEHIND } from '../../protocol/index.ts'
import { itemsOf, type LoggedEvent } from '../../storage/index.ts'

/** One entry may take 256 KiB for the names of changed fields alone. */
const MAX_CHARS = 8 * 1_048_576

/**
 * One entry of the log on the wire. `scope` is the automation type it belongs to, or '*' if every client may see it.
 */
export interface RingEvent {
  readonly id: string
  readonly scope: string
  /** Each event of the entry by itself. */
  readonly text: string
  /** All events of the entry as one; equal to `text` for a single event. */
  readonly batchedText: string
  /** The entry of the log; null for a `reset`. */
  readonly logged: LoggedEvent | null
}

export class Ring {
  readonly #entries: RingEvent[] = []
  /** The position after the event of each id, including the event before the oldest one. */
  readonly #positions: Map<string, number>
  #before: string
  #first = 0
  #chars = 0

  /** @param id The newest event so far. The ring begins after it. */
  constructor(id: string) {
    this.#before = id
    this.#positions = new Map([[id, 0]])
  }

  /** The position after the newest event. */
  get end(): number {
    return this.#first + this.#entries.length
  }

  push(entry: RingEvent): void {
    this.#entries.push(entry)
    this.#positions.set(entry.id, this.end)
    this.#chars += charsOf(entry)
    while (this.#entries.length > MAX_EVENTS_BEHIND || (this.#chars > MAX_CHARS && this.#entries.length > 1))
      this.#drop()
  }

  /** The position after the event of this id; undefined if the ring does not have the event. */
  positionAfter(id: string): number | undefined {
    return this.#positions.get(id)
  }

  /** The position of the oldest event. */
  get first(): number {
    return this.#first
  }

  /** The events from one position up to another. */
  between(from: number, to: number): readonly RingEvent[] {
    return this.#entries.slice(from - this.#first, to - this.#first)
  }

  #drop(): void {
    const dropped = this.#entries.shift()
    if (dropped === undefined) return
    // A newer event may have the same id.
    if (this.#positions.get(this.#before) === this.#first) this.#positions.delete(this.#before)
    this.#first += 1
    this.#before = dropped.id
    this.#chars -= charsOf(dropped)
  }
}

function charsOf({ text, batchedText, logged }: RingEvent): number {
  const rendered = text === batchedText ? text.length : text.length + batchedText.length
  const items = logged === null ? [] : itemsOf(logged)
  return items.reduce((sum, { length }) => sum + length, rendered)
}
