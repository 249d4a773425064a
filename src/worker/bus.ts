/**
 * @module worker/bus
 * Subscribes plugins to bus topics: one server-sent event stream per topic, shared by all slots that listen to it and
 * open while at least one does. The bus stores nothing (D23), so messages published while the stream is disconnected
 * are lost. A listener that reads too slowly loses its oldest messages, with at most one warning per minute.
 */
import { EventReader } from '../protocol/event-stream/index.ts'
import { MAX_BUS_TOPICS } from '../protocol/index.ts'
import {
  Backoff,
  createHttpPool,
  isRefusalStatus,
  parseRetryAfter,
  Signal,
  sleep,
  type Clock,
  type CreateHttpPool,
  type HttpPool,
  type Log,
  type Random,
  type RefusalLimiter,
  type Timers,
} from '../runtime/index.ts'

/** The master sends a comment at least every 15 s. */
const SILENCE_MS = 45_000
const RETRY_BASE_MS = 500
const RETRY_CAP_MS = 30_000
const MAX_QUEUED = 1_000
const WARN_EVERY_MS = 60_000

export interface BusDeps {
  readonly clock: Clock
  readonly timers: Timers
  readonly random: Random
  readonly log: Log
  readonly origin: string
  readonly busPath: string
  readonly token: () => string
  /** Shared by all clients of one worker (D67). */
  readonly refusals: RefusalLimiter
  /** Creates the pool of connections. By default one of undici. */
  readonly createPool?: CreateHttpPool | undefined
}

/** The queue of unread messages of one subscription. */
class Listener {
  readonly queue: unknown[] = []
  readonly #arrival: Signal

  constructor(timers: Timers) {
    this.#arrival = new Signal(timers)
  }

  /** @returns false when the queue was full and the oldest message was dropped. */
  put(message: unknown): boolean {
    this.queue.push(message)
    this.#arrival.notify()
    if (this.queue.length <= MAX_QUEUED) return true
    this.queue.shift()
    return false
  }

  /** Resolves when the next message arrives, or when `signal` aborts. */
  arrival(signal: AbortSignal): Promise<void> {
    return this.#arrival.wait(signal)
  }
}

interface Topic {
  readonly listeners: Set<Listener>
  readonly abort: AbortController
}

export class BusClient {
  readonly #deps: BusDeps
  readonly #pool: HttpPool
  readonly #topics = new Map<string, Topic>()
  #warnedAtMs = -Infinity

  constructor(deps: BusDeps) {
    this.#deps = deps
    const { createPool = createHttpPool } = deps
    this.#pool = createPool(deps.origin, { connections: MAX_BUS_TOPICS })
  }

  /** Yields the messages published on `topic` during the iteration. Ends when `signal` aborts. */
  async *subscribe(topic: string, signal: AbortSignal): AsyncGenerator {
    const listener = new Listener(this.#deps.timers)
    const leave = this.#join(topic, listener)
    try {
      while (!signal.aborted) {
        if (listener.queue.length === 0) await listener.arrival(signal)
        while (listener.queue.length > 0 && !signal.aborted) yield listener.queue.shift()
      }
    } finally {
      leave()
    }
  }

  async close(): Promise<void> {
    for (const { abort } of this.#topics.values()) abort.abort()
    await this.#pool.destroy()
  }

  #join(name: string, listener: Listener): () => void {
    const topic = this.#topics.get(name) ?? this.#open(name)
    topic.listeners.add(listener)
    return () => {
      topic.listeners.delete(listener)
      if (topic.listeners.size > 0) return
      topic.abort.abort()
      if (this.#topics.get(name) === topic) this.#topics.delete(name)
    }
  }

  #open(name: string): Topic {
    const topic: Topic = { listeners: new Set(), abort: new AbortController() }
    this.#topics.set(name, topic)
    void this.#follow(name, topic)
    return topic
  }

  /** Reconnects the stream of one topic until it has no listeners. Never rejects. */
  async #follow(name: string, { abort, listeners }: Topic): Promise<void> {
    const backoff = new Backoff({ baseMs: RETRY_BASE_MS, capMs: RETRY_CAP_MS, floor: 0.5, random: this.#deps.random })
    while (!abort.signal.aborted) {
      try {
        await this.#read(name, abort.signal, (message) => {
          backoff.reset()
          for (const listener of listeners) if (!listener.put(message)) this.#warnSlow(name)
        })
      } catch (error) {
        if (!abort.signal.aborted)
          this.#deps.log.warn('bus subscription lost, retrying', { topic: name, error: (error as Error).message })
      }
      await sleep(this.#deps.timers, backoff.nextMs(), abort.signal)
    }
  }

  async #read(topic: string, signal: AbortSignal, deliver: (message: unknown) => void): Promise<void> {
    const { clock, refusals } = this.#deps
    await refusals.turn(signal)
    const silence = new AbortController()
    const arm = (): (() => void) =>
      this.#deps.timers.after(SILENCE_MS, () => silence.abort(new Error(`not a byte for ${SILENCE_MS} ms`)))
    let cancel = arm()
    try {
      const { statusCode, headers, body } = await this.#pool.request({
        method: 'GET',
        path: `${this.#deps.busPath}?topic=${encodeURIComponent(topic)}`,
        signal: AbortSignal.any([signal, silence.signal]),
        headers: { accept: 'text/event-stream', authorization: `Bearer ${this.#deps.token()}` },
      })
      if (isRefusalStatus(statusCode)) refusals.refused(parseRetryAfter(headers['retry-after'], clock.wallMs()))
      else refusals.served()
      if (statusCode !== 200) {
        await body.dump()
        throw new Error(`the master returned HTTP ${statusCode}`)
      }
      const events = new EventReader()
      for await (const chunk of body) {
        cancel()
        cancel = arm()
        for (const { data } of events.read(chunk)) deliver((JSON.parse(data) as { message: unknown }).message)
      }
    } finally {
      cancel()
    }
  }

  #warnSlow(topic: string): void {
    const now = this.#deps.clock.monotonicMs()
    if (now - this.#warnedAtMs < WARN_EVERY_MS) return
    this.#warnedAtMs = now
    this.#deps.log.warn('a slot does not read its bus messages fast enough: dropping the oldest', { topic })
  }
}
