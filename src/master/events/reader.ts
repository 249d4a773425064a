/**
 * @module master/events/reader
 * One event stream, from its begin to its end:
 *
 *   begins ──no Last-Event-ID──────────────────────────▶ follows the ring
 *     └────with one──▶ reads the log up to the ring ────▶    │
 *                       └─ gone: reset ─────────────────▶    ├─ lost its place: reset, then goes on
 *                                                            └─ 30 s without taking what was written: cut off
 *
 * What a reader does not take is not kept for it: one piece is on its way, the rest stays in the ring. So it gets
 * everything there was, in order and once, or a `reset` (G10).
 */
import { EVENT_COMMENT_MS, FleetError } from '../../protocol/index.ts'
import type { Timers } from '../../runtime/index.ts'
import type { Feed, View } from './feed.ts'

const STUCK_MS = 30_000
/** What a client that has no mind of its own waits before it comes back. */
const RETRY_MS = 2_000

/** The far end, as StreamBody of the route table has it. */
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
  /** The far end has not taken what was written. */
  #isFull = false
  /** … for too long. */
  #isStuck = false
  #isWoken = false
  #resume = (): void => {}

  constructor(feed: Feed, timers: Timers, view: View, sink: Sink) {
    this.#feed = feed
    this.#timers = timers
    this.#view = view
    this.#sink = sink
  }

  /** Resolves when the stream ended in order. @throws what is to cut it off. */
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

  /** An id without an event: from the first moment on there is a point to resume at. */
  async #begin(): Promise<number> {
    const { end, newestId } = this.#feed
    await this.#send(`retry: ${RETRY_MS}\nid: ${newestId}\n\n`)
    return end
  }

  /** Sends what the log holds behind the id; answers the place in the ring to go on at. */
  async #catchUp(lastEventId: string): Promise<number> {
    await this.#send(`retry: ${RETRY_MS}\n\n`)
    for (let id = lastEventId; !this.#sink.signal.aborted;) {
      const place = this.#feed.placeBehind(id)
      if (place !== undefined) return place
      const page = await this.#feed.read(id, this.#view)
      if (page === 'reset') return this.#reset()
      for (const text of page.texts) await this.#send(text)
      if (page.last === null)
        await this.#news() // The log is ahead of what this master was told of it.
      else id = page.last
    }
    return this.#feed.end
  }

  async #follow(from: number): Promise<void> {
    for (let place = from; !this.#sink.signal.aborted;) {
      const piece = this.#feed.piece(place, this.#view)
      if (piece === null) {
        place = await this.#reset()
      } else if (piece.next === place) {
        await this.#news()
      } else {
        place = piece.next
        if (piece.bytes.length > 0) await this.#send(piece.bytes)
      }
    }
  }

  async #reset(): Promise<number> {
    const { end } = this.#feed
    await this.#send(this.#feed.resetText())
    return end
  }

  /** Resolves when the far end takes more. */
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
    while (this.#isFull && !this.#isStuck && !signal.aborted) await this.#news()
    cancel()
    if (!this.#isFull) return
    if (signal.aborted) throw signal.reason // The end would wait behind what is not taken.
    throw new FleetError('OVERLOADED', `the event stream client read nothing for ${STUCK_MS / 1_000} s`)
  }

  #wake(): void {
    this.#isWoken = true
    this.#resume()
  }

  /** Resolves when woken, at once when that was since the last time. */
  async #news(): Promise<void> {
    if (!this.#isWoken) await new Promise<void>((resolve) => void (this.#resume = resolve))
    this.#isWoken = false
  }
}
