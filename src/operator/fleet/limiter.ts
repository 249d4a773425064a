/**
 * @module operator/fleet/limiter
 * Limits the calls to the master in two ways:
 *
 *   in flight   as many as do not make each other slower (`ConcurrencyLimit`), and a reserve for edits
 *   rate        not limited before the first refusal (429, 503), and after a minute without one; in between:
 *                 a refusal                    half of the rate of the last second, once for all calls in flight
 *                 a second without a refusal   + 10 % and 5 calls a second
 *
 * A refusal with `Retry-After` also pauses all calls. Waiting calls form three lines. Calls for edits leave first, then
 * those of other reconciles, then calls that only keep the table current. To prevent starvation, a call that has waited
 * for a second gets one turn of eight.
 */
import { ConcurrencyLimit, type Clock, type Flight, type FlightEnd, type Timers } from '../../runtime/index.ts'

/** The reserve is for calls for edits. */
const IN_FLIGHT = { initial: 4, most: 48, reserve: 16 } as const
/** The connections that these calls need. */
export const MAX_IN_FLIGHT = IN_FLIGHT.most + IN_FLIGHT.reserve
const MIN_PER_SECOND = 1
/** Growth of a limited rate in a second without a refusal. */
const GROWTH = { factor: 1.1, perSecond: 5 } as const
/** After this time without a refusal the rate is not limited. */
const CLEAN_MS = 60_000
/** Calls of this much time may be sent in one burst after a quiet period. */
const BURST_MS = 100
/** After this wait a call is sent ahead of more urgent calls, for one turn of eight. */
const PATIENCE_MS = 1_000
const TURNS_PER_OLDEST = 8

export type Line = 'edit' | 'reconcile' | 'table'

interface Waiting {
  readonly line: Line
  readonly sinceMs: number
  readonly leave: (flight: Flight) => void
}

export class Limiter {
  readonly #clock: Clock
  readonly #timers: Timers
  readonly #concurrency: ConcurrencyLimit
  #perSecond = Infinity
  #refusedMs = -Infinity
  /** Start of the second in which a limited rate grows next. */
  #grownMs = -Infinity
  #halvedMs = -Infinity
  /** When the next call may be sent. */
  #nextMs: number
  /** Number of calls of about the last second. */
  #recent = 0
  #recentMs: number
  readonly #lines: Record<Line, Waiting[]> = { edit: [], reconcile: [], table: [] }
  #turns = 0
  #cancelTimer: () => void = () => {}

  constructor(clock: Clock, timers: Timers) {
    this.#clock = clock
    this.#timers = timers
    this.#concurrency = new ConcurrencyLimit(clock, IN_FLIGHT)
    this.#nextMs = this.#recentMs = clock.monotonicMs()
  }

  /** Calls per second; `Infinity` while the rate is not limited. */
  get perSecond(): number {
    const nowMs = this.#clock.monotonicMs()
    if (nowMs - this.#refusedMs >= CLEAN_MS) this.#perSecond = Infinity
    for (; this.#perSecond < Infinity && nowMs - this.#grownMs >= 1_000; this.#grownMs += 1_000)
      this.#perSecond = this.#perSecond * GROWTH.factor + GROWTH.perSecond
    return this.#perSecond
  }

  /**
   * Resolves when a call may be sent. The caller passes the flight to {@link ended}. @throws the abort reason of
   * `signal`.
   */
  async turn(signal: AbortSignal, line: Line = 'reconcile'): Promise<Flight> {
    signal.throwIfAborted()
    return new Promise<Flight>((resolve, reject) => {
      const waits = this.#lines[line]
      const onAbort = (): void => {
        waits.splice(waits.indexOf(waiting), 1)
        reject(signal.reason as Error)
        this.#next()
      }
      const waiting: Waiting = {
        line,
        sinceMs: this.#clock.monotonicMs(),
        leave: (flight) => {
          waits.splice(waits.indexOf(waiting), 1)
          signal.removeEventListener('abort', onAbort)
          resolve(flight)
        },
      }
      waits.push(waiting)
      signal.addEventListener('abort', onAbort, { once: true })
      this.#next()
    })
  }

  /** Ends a flight: its call has a response, failed, or was not sent. */
  ended(flight: Flight, how: FlightEnd): void {
    this.#concurrency.end(flight, how)
    this.#next()
  }

  /** Slows down after the master refused a call that was sent at `sentMs`. */
  refused(sentMs: number, retryAfterMs: number): void {
    const nowMs = this.#clock.monotonicMs()
    if (sentMs >= this.#halvedMs) {
      this.#perSecond = Math.max(MIN_PER_SECOND, Math.min(this.perSecond, this.#recentCalls(nowMs)) / 2)
      this.#halvedMs = nowMs
    }
    this.#refusedMs = this.#grownMs = Math.max(this.#refusedMs, nowMs + retryAfterMs)
    // A refusal without Retry-After must not move the next call forward.
    this.#nextMs = Math.max(this.#nextMs, nowMs + retryAfterMs)
    this.#next()
  }

  /** Releases the calls that may leave, and schedules the next check. */
  #next(): void {
    this.#cancelTimer()
    const nowMs = this.#clock.monotonicMs()
    for (let first = this.#first; first !== undefined; first = this.#first) {
      if (this.#nextMs > nowMs) {
        this.#cancelTimer = this.#timers.after(this.#nextMs - nowMs, () => this.#next())
        return
      }
      this.#nextMs = Math.max(this.#nextMs, nowMs - BURST_MS) + 1_000 / this.perSecond
      this.#recent = this.#recentCalls(nowMs) + 1
      this.#recentMs = nowMs
      const leaving = this.#overdue(nowMs) ?? first
      leaving.leave(this.#concurrency.begin())
    }
  }

  /** The first call of the most urgent line that has room in flight. */
  get #first(): Waiting | undefined {
    const first = this.#lines.edit[0] ?? this.#lines.reconcile[0] ?? this.#lines.table[0]
    return first !== undefined && this.#hasRoom(first.line) ? first : undefined
  }

  #hasRoom(line: Line): boolean {
    return this.#concurrency.hasRoom(line === 'edit')
  }

  #overdue(nowMs: number): Waiting | undefined {
    const [oldest] = Object.values(this.#lines)
      .flatMap(([first]) => first ?? [])
      .toSorted((a, b) => a.sinceMs - b.sinceMs)
    if (oldest === undefined || nowMs - oldest.sinceMs < PATIENCE_MS) return undefined
    if (!this.#hasRoom(oldest.line)) return undefined
    this.#turns = (this.#turns + 1) % TURNS_PER_OLDEST
    return this.#turns === 0 ? oldest : undefined
  }

  #recentCalls(nowMs: number): number {
    return this.#recent * Math.exp((this.#recentMs - nowMs) / 1_000)
  }
}
