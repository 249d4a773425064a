/**
 * @module storage/event-log
 * Keeps the event log of the backends that serve one master in a ring in the process. After a restart a read returns
 * `reset`, and readers list the current state again.
 *
 * Ids are `<run>-<sequence>`. The run is a random text that is new at every start, so an id from before a restart never
 * matches an event after it. Listeners are called in the order of the appends, within the append, and must not throw.
 */
import { EVENT_LOG_BYTES, EVENT_LOG_LENGTH } from '../protocol/index.ts'
import type { EventLog, EventReadResult, LoggedEvent, NewEvent } from './backend.ts'
import { itemsOf, pointOf, restOf, type EventPoint } from './event-batches.ts'

export class LocalEventLog implements EventLog {
  readonly #gate: () => void
  readonly #length: number
  readonly #listeners = new Set<(events: readonly LoggedEvent[]) => void>()
  /** Entry number n stands at n modulo the length. */
  #ring: (LoggedEvent | undefined)[] = []
  #bytes = 0
  #run = ''
  /** The number of the oldest event that is kept. */
  #first = 1
  /** The number of the newest event; the first one is 1. */
  #last = 0

  /** @param gate throws while the store is not open. */
  constructor(gate: () => void, length = EVENT_LOG_LENGTH) {
    this.#gate = gate
    this.#length = length
  }

  /** Begins a new life, at every open: what was kept is gone, listeners stay. `run`: random, letters and digits. */
  restart(run: string): void {
    this.#run = run
    this.#ring = []
    this.#bytes = 0
    this.#first = 1
    this.#last = 0
  }

  async append(events: readonly NewEvent[]): Promise<void> {
    this.#gate()
    if (events.length === 0) return
    const logged = events.map((event) => this.#keep(event))
    for (const listener of this.#listeners) listener(logged)
  }

  async read(after: string, limit: number): Promise<EventReadResult> {
    this.#gate()
    const point = after === '' ? { run: this.#run, number: 0, item: 0 } : pointOf(after)
    const begun = point === null ? null : this.#eventsAt(point)
    if (point === null || begun === null) return { kind: 'reset' }
    const events = [...begun]
    for (let n = point.number + 1; n <= this.#last && events.length < limit; n += 1) {
      const event = this.#ring[n % this.#length]
      if (event !== undefined) events.push(event)
    }
    return { kind: 'events', events }
  }

  onAppend(on: (events: readonly LoggedEvent[]) => void): () => void {
    // Its own, so that one function may listen twice.
    const listener = (events: readonly LoggedEvent[]): void => on(events)
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  newest(): string {
    return `${this.#run}-${this.#last}`
  }

  #keep({ name, scope, data, more }: NewEvent): LoggedEvent {
    const id = `${this.#run}-${this.#last + 1}`
    const logged = { id, name, scope, data, ...(more !== undefined && { more }) }
    this.#bytes += bytesOf(logged)
    while (this.#first <= this.#last && (this.#last - this.#first + 2 > this.#length || this.#bytes > EVENT_LOG_BYTES))
      this.#dropOldest()
    this.#last += 1
    this.#ring[this.#last % this.#length] = logged
    return logged
  }

  #dropOldest(): void {
    const at = this.#first % this.#length
    const oldest = this.#ring[at]
    if (oldest !== undefined) this.#bytes -= bytesOf(oldest)
    this.#ring[at] = undefined
    this.#first += 1
  }

  /** @returns the rest of the entry that the point is within, if any; null if the log does not have the point. */
  #eventsAt({ run, number, item }: EventPoint): readonly LoggedEvent[] | null {
    if (run !== this.#run || number > this.#last || number < this.#first - 1) return null
    if (item === 0) return []
    const entry = number < this.#first ? undefined : this.#ring[number % this.#length]
    const rest = entry === undefined ? null : restOf(entry, item)
    return rest === null ? null : [rest]
  }
}

const bytesOf = (event: NewEvent): number =>
  itemsOf(event).reduce((sum, data) => sum + Buffer.byteLength(data), event.name.length + event.scope.length)
