/**
 * @module master/events/ring
 * The newest events as readers get them, each written out once for all of them. A reader has no queue of its own but a
 * place in this ring: the number of the event it gets next. Who falls behind by more than the ring holds has lost its
 * place.
 */
import { MAX_EVENTS_BEHIND } from '../../protocol/index.ts'

/** The names of changed fields alone may take 256 KiB an event. */
const MAX_CHARS = 8 * 1_048_576

/** One event on the wire. `scope`: the automation type it belongs to, '*' for everybody. */
export interface Entry {
  readonly id: string
  readonly scope: string
  readonly text: string
}

export class Ring {
  readonly #entries: Entry[] = []
  /** The place behind the event of each id; also that of the event before the oldest one kept. */
  readonly #behind: Map<string, number>
  #before: string
  #first = 0
  #chars = 0

  /** @param id the newest event so far: the ring begins behind it. */
  constructor(id: string) {
    this.#before = id
    this.#behind = new Map([[id, 0]])
  }

  /** The place behind the newest event. */
  get end(): number {
    return this.#first + this.#entries.length
  }

  push(entry: Entry): void {
    this.#entries.push(entry)
    this.#behind.set(entry.id, this.end)
    this.#chars += entry.text.length
    while (this.#entries.length > MAX_EVENTS_BEHIND || (this.#chars > MAX_CHARS && this.#entries.length > 1))
      this.#drop()
  }

  /** Where to go on behind the event of this id; undefined when it is not here. */
  placeBehind(id: string): number | undefined {
    return this.#behind.get(id)
  }

  /** The place of the oldest event kept: those before it are lost. */
  get first(): number {
    return this.#first
  }

  /** The events from one place up to another. */
  between(from: number, to: number): readonly Entry[] {
    return this.#entries.slice(from - this.#first, to - this.#first)
  }

  #drop(): void {
    const dropped = this.#entries.shift()
    if (dropped === undefined) return
    if (this.#behind.get(this.#before) === this.#first) this.#behind.delete(this.#before) // Not one that bears the same id and is kept.
    this.#first += 1
    this.#before = dropped.id
    this.#chars -= dropped.text.length
  }
}
