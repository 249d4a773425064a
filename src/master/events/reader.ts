/**
 * @module master/events/reader
 * Writes one event stream.
 *
 *   start ──no Last-Event-ID──────────────────────────────▶ follows the ring
 *     └────with one──▶ reads the log up to the ring ────────▶    │
 *                       └─ id not in the log: reset ─────────▶    ├─ position lost: reset, then continues
 *                                                                └─ client reads nothing for 30 s: terminated
 *
 * Nothing is queued for a reader: one chunk is being sent, the rest stays in the ring. A client therefore receives all
 * events in order and once, or a `reset` (G10).
 */
import { EVENT_COMMENT_MS, FleetError } from '../../protocol/index.ts'
import type { Timers } from '../../runtime/index.ts'
import type { Feed, View } from './feed.ts'

const STUCK_MS = 30_000
/** How long an EventSource waits before it reconnects. */
const RETRY_MS = 2_000

/** The client's end of the stream, as in StreamBody of the route table. */
export interface Sink {
  readonly write: (chunk: string | Uint8Array) => boolean
  readonly drained: () => Promise<void>
  readonly signal: AbortSignal
}

export class Reader {
  readonly #feed: Feed
  readonly #timers: Timers
  readonly #view: View
  readonly #sink: Sink
  /** The client has not read what was written. */
  #isFull = false
  /** The client has not read for 30 s. */
  #isStuck = false
  #isWoken = false
  #resume = (): void => {}

  constructor(feed: Feed, timers: Timers, view: View, sink: Sink) {
    this.#feed = feed
    this.#timers = timers
    this.#view = view
    this.#sink = sink
  }

  /** Resolves when the stream has ended normally. @throws an error to terminate the connection with. */
  async run(lastEventId: string): Promise<void> {
    const { signal } = this.#sink
    const ends = [
      this.#feed.onNews(() => this.#wake()),
      this.#timers.every(EVENT_COMMENT_MS, () => void (this.#isFull || this.#sink.write(':\n\n'))),
    ]
    signal.addEventListener('abort', () => this.#wake(), { once: true })
    try {
      await this.#follow(lastEventId === '' ? await this.#begin() : await this.#catchUp(lastEventId))
    } finally {
      for (const end of ends) end()
    }
  }

  /** Sends an id without an event, so that the client can resume from the first moment. */
  async #begin(): Promise<number> {
    const { end, newestId } = this.#feed
    await this.#send(`retry: ${RETRY_MS}\nid: ${newestId}\n\n`)
    return end
  }

  /** Sends the events of the log after the id. @returns the position in the ring where the stream continues. */
  async #catchUp(lastEventId: string): Promise<number> {
    await this.#send(`retry: ${RETRY_MS}\n\n`)
    for (let id = lastEventId; !this.#sink.signal.aborted;) {
      const position = this.#feed.positionAfter(id)
      if (position !== undefined) return position
      const page = await this.#feed.read(id, this.#view)
      if (page.kind === 'reset') return this.#reset()
      for (const text of page.texts) await this.#send(text)
      if (page.last === null)
        await this.#nextWake() // The log has events that this master has not received yet.
      else id = page.last
    }
    return this.#feed.end
  }

  async #follow(from: number): Promise<void> {
    for (let position = from; !this.#sink.signal.aborted;) {
      const chunk = this.#feed.chunk(position, this.#view)
      if (chunk === null) {
        position = await this.#reset()
      } else if (chunk.next === position) {
        await this.#nextWake()
      } else {
        position = chunk.next
        if (chunk.bytes.length > 0) await this.#send(chunk.bytes)
      }
    }
  }

  async #reset(): Promise<number> {
    const { end } = this.#feed
    await this.#send(this.#feed.resetText())
    return end
  }

  /** Resolves when the client can take more. */
  async #send(chunk: string | Uint8Array): Promise<void> {
    const { write, drained, signal } = this.#sink
    if (signal.aborted || chunk.length === 0 || write(chunk)) return
    this.#isFull = true
    const cancel = this.#timers.after(STUCK_MS, () => {
      this.#isStuck = true
      this.#wake()
    })
    void drained().then(() => {
      this.#isFull = false
      this.#wake()
    })
    while (this.#isFull && !this.#isStuck && !signal.aborted) await this.#nextWake()
    cancel()
    if (!this.#isFull) return
    if (signal.aborted) throw signal.reason // A normal end would wait until the unread bytes are read.
    throw new FleetError('OVERLOADED', `the event stream client read nothing for ${STUCK_MS / 1_000} s`)
  }

  #wake(): void {
    this.#isWoken = true
    this.#resume()
  }

  /** Resolves at the next wake-up; immediately if there was one since the last call. */
  async #nextWake(): Promise<void> {
    if (!this.#isWoken) await new Promise<void>((resolve) => void (this.#resume = resolve))
    this.#isWoken = false
  }
}
