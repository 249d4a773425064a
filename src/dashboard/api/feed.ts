/**
 * @module dashboard/api/feed
 * Follows the master's event stream while the dashboard is open (D31, D51).
 *
 *   connecting ──▶ live ──stream ends, or no data for 45 s──▶ lost: waits 1, 2, 4 … 30 s (full jitter) ──▶ connecting
 *       ▲            └── tab hidden for 15 s, or paused ──▶ hidden, paused ──tab shown, or resumed──┐
 *       └───────────────────────────── `Last-Event-ID` of the last event ◀───────────────────────────┘
 *
 * Events are delivered in batches, at most four a second, so that a burst causes one repaint. `reset` is delivered like
 * any other event; listeners reload their data. A stream that was lost before its first event cannot resume, so the
 * feed adds a `reset` when it reconnects.
 */
import { singleEvents, type EventReader } from '../../protocol/event-stream/index.ts'
import { Backoff, retryAfterDelayMs } from '../../runtime/backoff/index.ts'
import type { Problem } from './problem.ts'

export interface FleetEvent {
  readonly name: string
  readonly data: {
    readonly type?: string
    readonly worker_id?: string
    readonly ts?: number
    readonly [field: string]: unknown
  }
}

export type FeedState =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live' }
  /** @property sinceMs When the stream was lost, in local milliseconds. */
  | { readonly kind: 'lost'; readonly sinceMs: number; readonly problem: Problem }
  | { readonly kind: 'hidden' }
  | { readonly kind: 'paused'; readonly sinceMs: number }

export interface FeedDeps {
  readonly open: (lastId: string, signal: AbortSignal) => Promise<ReadableStream<Uint8Array>>
  readonly reader: (lastId: string) => EventReader
  readonly asProblem: (error: unknown) => Problem
  readonly localMs: () => number
  readonly random: () => number
  readonly after: (ms: number, act: () => void) => () => void
}

const SILENCE_MS = 45_000
const FIRST_WAIT_MS = 1_000
const MOST_WAIT_MS = 30_000
const BATCH_MS = 250
const HIDDEN_MS = 15_000
const RESET: FleetEvent = { name: 'reset', data: {} }

export class Feed {
  readonly #deps: FeedDeps
  readonly #listeners = new Set<(events: readonly FleetEvent[]) => void>()
  readonly #watchers = new Set<() => void>()
  #state: FeedState = { kind: 'connecting' }
  #stop: AbortController | undefined
  #lastId = ''
  #isResuming = false
  readonly #random: { readonly unit: () => number }
  readonly #backoff: Backoff
  #batch: FleetEvent[] = []
  #endBatch: (() => void) | undefined
  #endHidden: (() => void) | undefined

  constructor(deps: FeedDeps) {
    this.#deps = deps
    this.#random = { unit: deps.random }
    this.#backoff = new Backoff({ baseMs: FIRST_WAIT_MS, capMs: MOST_WAIT_MS, random: this.#random })
  }

  /** The connection state, shown by the live badge. */
  get state(): FeedState {
    return this.#state
  }

  readonly watch = (watcher: () => void): (() => void) => {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  /** Calls `listener` with each batch of events, in order. @returns a function that unsubscribes. */
  readonly listen = (listener: (events: readonly FleetEvent[]) => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  start(): void {
    if (this.#stop !== undefined) return
    this.#stop = new AbortController()
    void this.#run(this.#stop.signal)
  }

  /** Closes the stream; `start` resumes after the last event. */
  end(): void {
    this.#endHidden?.()
    this.#endHidden = undefined
    this.#halt()
  }

  pause(): void {
    this.#halt()
    this.#become({ kind: 'paused', sinceMs: this.#deps.localMs() })
  }

  resume(): void {
    this.#become({ kind: 'connecting' })
    this.start()
  }

  /** Called when the tab becomes visible or hidden. The stream is closed after 15 s in the background. */
  show(visible: boolean): void {
    this.#endHidden?.()
    this.#endHidden = undefined
    if (this.#state.kind === 'paused') return
    if (visible) return this.start()
    this.#endHidden = this.#deps.after(HIDDEN_MS, () => {
      this.#halt()
      this.#become({ kind: 'hidden' })
    })
  }

  /** Reconnects immediately instead of after the backoff. */
  retry(): void {
    if (this.#state.kind !== 'lost') return
    this.#halt()
    this.start()
  }

  #halt(): void {
    this.#stop?.abort()
    this.#stop = undefined
    this.#endBatch?.()
    this.#endBatch = undefined
    this.#handOn()
  }

  #become(state: FeedState): void {
    this.#state = state
    for (const each of this.#watchers) each()
  }

  async #run(signal: AbortSignal): Promise<void> {
    if (this.#state.kind !== 'lost') this.#become({ kind: 'connecting' })
    while (!signal.aborted) {
      const problem = await this.#follow(signal)
      if (signal.aborted) return
      const sinceMs = this.#state.kind === 'lost' ? this.#state.sinceMs : this.#deps.localMs()
      this.#become({ kind: 'lost', sinceMs, problem })
      await this.#wait(
        Math.max(this.#backoff.nextMs(), retryAfterDelayMs((problem.retryAfterSeconds ?? 0) * 1_000, this.#random)),
        signal,
      )
    }
  }

  /** Reads one stream until it ends. @returns why it ended. */
  async #follow(signal: AbortSignal): Promise<Problem> {
    const silence = new AbortController()
    const either = AbortSignal.any([signal, silence.signal])
    const watchdog = (): (() => void) =>
      this.#deps.after(SILENCE_MS, () => silence.abort(new Error('the event stream timed out')))
    let calm = watchdog()
    try {
      const body = await this.#deps.open(this.#lastId, either)
      this.#opened()
      const events = this.#deps.reader(this.#lastId)
      for await (const chunk of body) {
        calm()
        calm = watchdog()
        this.#backoff.reset()
        for (const { name, data } of events.read(chunk))
          for (const event of singleEvents({ name, data: JSON.parse(data) as FleetEvent['data'] })) this.#take(event)
        this.#lastId = events.lastId
      }
      return this.#deps.asProblem(new Error('the master closed the event stream'))
    } catch (error) {
      return this.#deps.asProblem(error)
    } finally {
      calm()
      silence.abort()
    }
  }

  #opened(): void {
    if (this.#isResuming && this.#lastId === '') this.#take(RESET)
    this.#isResuming = true
    this.#become({ kind: 'live' })
  }

  #take(event: FleetEvent): void {
    this.#batch.push(event)
    this.#endBatch ??= this.#deps.after(BATCH_MS, () => {
      this.#endBatch = undefined
      this.#handOn()
    })
  }

  #handOn(): void {
    const events = this.#batch
    if (events.length === 0) return
    this.#batch = []
    for (const each of this.#listeners) each(events)
  }

  #wait(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        cancel()
        signal.removeEventListener('abort', end)
        resolve()
      }
      const cancel = this.#deps.after(ms, end)
      signal.addEventListener('abort', end)
    })
  }
}
