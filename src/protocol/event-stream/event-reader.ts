/**
 * @module protocol/event-stream/event-reader
 * Parses the text of server-sent events, chunk by chunk, for clients, workers and the dashboard. They cannot use
 * `EventSource`, which sends no token.
 * @see WHATWG HTML, section 9.2.6
 */

/** One server-sent event. */
export interface SentEvent {
  /** The newest so far; empty before the first. */
  readonly id: string
  readonly name: string
  readonly data: string
}

/** Far above any event of a master. */
const MAX_EVENT_CHARS = 1_048_576
/** A carriage return at the end may be the first half of CRLF. */
const LINE_END = /\r\n|\n|\r(?!$)/

/** Parses the text of server-sent events, chunk by chunk. One reader per stream. */
export class EventReader {
  readonly #decoder = new TextDecoder()
  #rest = ''
  /** Of the event that is being read; it counts once the event is complete. */
  #id: string
  #lastId: string
  #name = ''
  #data: string[] = []
  #chars = 0

  /**
   * Creates the reader of one connection.
   * @param lastId The id to resume after; '' if omitted.
   */
  constructor(lastId = '') {
    this.#id = this.#lastId = lastId
  }

  /** Returns where to resume: the newest `id` so far, also of an event without data; '' before the first. */
  get lastId(): string {
    return this.#lastId
  }

  /**
   * Reads a chunk of the stream.
   * @param chunk UTF-8 text, which may end in the middle of an event or of a character.
   * @returns the events that the chunk completes; empty if it completes none.
   * @throws {Error} when an event grows beyond 1 MiB.
   */
  read(chunk: Uint8Array): SentEvent[] {
    const lines = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split(LINE_END)
    this.#rest = lines.pop() ?? ''
    this.#chars += chunk.length
    const events = lines.flatMap((line) => this.#line(line))
    if (this.#chars > MAX_EVENT_CHARS) throw new Error(`an event is longer than ${MAX_EVENT_CHARS} characters`)
    return events
  }

  #line(line: string): SentEvent[] {
    if (line === '') return this.#dispatch()
    const colon = line.indexOf(':')
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'data') this.#data.push(value)
    else if (field === 'event') this.#name = value
    else if (field === 'id' && !value.includes('\0')) this.#id = value
    else if (field === '') this.#chars = 0 // A comment: the stream lives.
    return []
  }

  #dispatch(): SentEvent[] {
    this.#lastId = this.#id
    const event = { id: this.#id, name: this.#name === '' ? 'message' : this.#name, data: this.#data.join('\n') }
    const complete = this.#data.length > 0
    this.#name = ''
    this.#data = []
    this.#chars = 0
    return complete ? [event] : []
  }
}
