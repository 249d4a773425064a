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

export class LocalEventLog implements EventLog {
  readonly #gate: () => void
  readonly #length: number
  readonly #listeners = new Set<(events: readonly LoggedEvent[]) => void>()
  /** Event number n stands at n modulo the length. */
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
    const from = this.#numberOf(after)
    if (from === null || from < this.#first - 1) return { kind: 'reset' }
    const events: LoggedEvent[] = []
    for (let n = from + 1; n <= this.#last && events.length < limit; n += 1) {
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

  #keep({ name, scope, data }: NewEvent): LoggedEvent {
    const logged = { id: `${this.#run}-${this.#last + 1}`, name, scope, data }
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

  /** null: not a point of this life. The empty text is the point before the first event. */
  #numberOf(id: string): number | null {
    if (id === '') return 0
    const prefix = `${this.#run}-`
    const digits = id.slice(prefix.length)
    const n = id.startsWith(prefix) && /^\d{1,15}$/.test(digits) ? Number(digits) : Infinity
    return n <= this.#last ? n : null
  }
}

const bytesOf = ({ name, scope, data }: NewEvent): number => name.length + scope.length + Buffer.byteLength(data)
