/**
 * @module runtime/concurrency-limit
 * Finds how many calls a server takes in parallel, from the latency of the calls (as TCP Vegas does):
 *
 *   waiting = limit × (1 − base ÷ mean)     mean: latency of the calls of a window; base: the lowest mean, which ages
 *
 *   waiting < 3, and the limit was reached ──▶ limit + √limit
 *   waiting > 6 ─────────────────────────────▶ limit − √limit
 *   a call is refused (429, 503) ────────────▶ limit ÷ 2, once for all calls in flight
 *
 * So the limit grows as long as more calls do not make each of them slower: at a distant server, and not at a busy one.
 * A few calls wait at the server at all times, so it never idles.
 */
import type { Clock } from './clock.ts'

const FEW_WAITING = 3
const MANY_WAITING = 6
/** Calls of a window. A higher limit has longer windows, so that each call of it counts. */
const MIN_WINDOW = 8
/** Time constant with which the base approaches a higher mean: the server may be slower for other reasons. */
const AGEING_MS = 60_000

export interface ConcurrencyLimitOptions {
  /** The limit at the start and the lowest one without refusals; at least 1. */
  readonly initial: number
  /** The highest limit. It bounds sockets and memory. */
  readonly most: number
  /** Urgent calls in flight in addition to the limit, so that they wait for no others. */
  readonly reserve: number
}

/** A call in flight. */
export interface Flight {
  readonly sentMs: number
  /** Whether the limit was reached when it began. */
  readonly isLast: boolean
}

/** `unmeasured`: without a response, or with a latency that does not compare with others. */
export type FlightEnd = 'ok' | 'refused' | 'unmeasured'

export class ConcurrencyLimit {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #options: ConcurrencyLimitOptions
  #limit: number
  #inFlight = 0
  #baseMs = Infinity
  #adaptedMs = -Infinity
  #halvedMs = -Infinity
  #window = { calls: 0, totalMs: 0, isFull: false }

  constructor(clock: Pick<Clock, 'monotonicMs'>, options: ConcurrencyLimitOptions) {
    this.#clock = clock
    this.#options = options
    this.#limit = options.initial
  }

  /** A whole number of calls. */
  get limit(): number {
    return this.#limit
  }

  /** Whether another call may begin. Urgent calls may use the reserve. */
  hasRoom(isUrgent = false): boolean {
    return this.#inFlight < this.#limit + (isUrgent ? this.#options.reserve : 0)
  }

  begin(): Flight {
    this.#inFlight += 1
    return { sentMs: this.#clock.monotonicMs(), isLast: !this.hasRoom() }
  }

  end({ sentMs, isLast }: Flight, how: FlightEnd): void {
    this.#inFlight -= 1
    if (how === 'refused') this.#halve(sentMs)
    if (how !== 'ok') return
    const window = this.#window
    window.calls += 1
    window.totalMs += this.#clock.monotonicMs() - sentMs
    window.isFull ||= isLast
    if (window.calls >= Math.max(MIN_WINDOW, this.#limit)) this.#adapt()
  }

  #adapt(): void {
    const { calls, totalMs, isFull } = this.#window
    this.#window = { calls: 0, totalMs: 0, isFull: false }
    const meanMs = totalMs / calls
    const nowMs = this.#clock.monotonicMs()
    const ageing = 1 - Math.exp((this.#adaptedMs - nowMs) / AGEING_MS)
    this.#adaptedMs = nowMs
    this.#baseMs = meanMs < this.#baseMs ? meanMs : this.#baseMs + (meanMs - this.#baseMs) * ageing
    const waiting = meanMs === 0 ? 0 : this.#limit * (1 - this.#baseMs / meanMs)
    const step = Math.ceil(Math.sqrt(this.#limit))
    const { initial, most } = this.#options
    if (waiting < FEW_WAITING && isFull) this.#limit = Math.min(most, this.#limit + step)
    else if (waiting > MANY_WAITING) this.#limit = Math.max(Math.min(initial, this.#limit), this.#limit - step)
  }

  #halve(sentMs: number): void {
    if (sentMs < this.#halvedMs) return // Sent before the limit was halved for the same overload.
    this.#limit = Math.max(1, Math.floor(this.#limit / 2))
    this.#halvedMs = this.#clock.monotonicMs()
  }
}
