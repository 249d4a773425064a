/**
 * @module operator/fleet/limiter
 * Limits the rate of calls to the master (additive increase, multiplicative decrease):
 *
 *   50/s ──a second without refusal: +5/s──▶ … 400/s
 *     ▲ └──429, 503: halved once for all calls in flight, and a pause of `Retry-After` if there is one
 *
 * Waiting calls form three lines. Calls for edits leave first, then those of other reconciles, then calls that only
 * keep the table current. To prevent starvation, a call that has waited for a second gets one turn of eight.
 */
import type { Clock, Timers } from '../../runtime/index.ts'

const START_PER_SECOND = 50
const MAX_PER_SECOND = 400
const MIN_PER_SECOND = 1
const STEP_PER_SECOND = 5
/** Calls of this much time may be sent in one burst after a quiet period. */
const BURST_MS = 100
/** After this wait a call is sent ahead of more urgent calls, for one turn of eight. */
const PATIENCE_MS = 1_000
const TURNS_PER_OLDEST = 8

export type Line = 'edit' | 'reconcile' | 'table'

interface Waiting {
  readonly sinceMs: number
  readonly leave: () => void
}

export class Limiter {
  readonly #clock: Clock
  readonly #timers: Timers
  #perSecond = START_PER_SECOND
  /** Start of the interval without refusal. The rate grows by one step for each full second of it. */
  #cleanSinceMs: number
  /** When the next call may be sent. */
  #nextMs: number
  #halvedMs = -Infinity
  readonly #lines: Record<Line, Waiting[]> = { edit: [], reconcile: [], table: [] }
  #turns = 0
  #cancelTimer: () => void = () => {}

  constructor(clock: Clock, timers: Timers) {
    this.#clock = clock
    this.#timers = timers
    this.#cleanSinceMs = this.#nextMs = clock.monotonicMs()
  }

  get perSecond(): number {
    const cleanSeconds = Math.floor((this.#clock.monotonicMs() - this.#cleanSinceMs) / 1_000)
    if (cleanSeconds > 0) {
      this.#perSecond = Math.min(MAX_PER_SECOND, this.#perSecond + cleanSeconds * STEP_PER_SECOND)
      this.#cleanSinceMs += cleanSeconds * 1_000
    }
    return this.#perSecond
  }

  /** Resolves when a call may be sent. @throws the abort reason of `signal`. */
  async turn(signal: AbortSignal, line: Line = 'reconcile'): Promise<void> {
    signal.throwIfAborted()
    await new Promise<void>((resolve, reject) => {
      const waits = this.#lines[line]
      const onAbort = (): void => {
        waits.splice(waits.indexOf(waiting), 1)
        reject(signal.reason as Error)
        this.#next()
      }
      const waiting: Waiting = {
        sinceMs: this.#clock.monotonicMs(),
        leave: () => {
          waits.splice(waits.indexOf(waiting), 1)
          signal.removeEventListener('abort', onAbort)
          resolve()
        },
      }
      waits.push(waiting)
      signal.addEventListener('abort', onAbort, { once: true })
      this.#next()
    })
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
      const leaving = this.#overdue(nowMs) ?? first
      leaving.leave()
    }
  }

  get #first(): Waiting | undefined {
    return this.#lines.edit[0] ?? this.#lines.reconcile[0] ?? this.#lines.table[0]
  }

  #overdue(nowMs: number): Waiting | undefined {
    const [oldest] = Object.values(this.#lines)
      .flatMap(([first]) => first ?? [])
      .toSorted((a, b) => a.sinceMs - b.sinceMs)
    if (oldest === undefined || nowMs - oldest.sinceMs < PATIENCE_MS) return undefined
    this.#turns = (this.#turns + 1) % TURNS_PER_OLDEST
    return this.#turns === 0 ? oldest : undefined
  }

  /** Slows down after the master refused a call that was sent at `sentMs`. */
  refused(sentMs: number, retryAfterMs: number): void {
    const nowMs = this.#clock.monotonicMs()
    if (sentMs >= this.#halvedMs) {
      this.#perSecond = Math.max(MIN_PER_SECOND, this.perSecond / 2)
      this.#halvedMs = nowMs
    }
    this.#cleanSinceMs = Math.max(this.#cleanSinceMs, nowMs + retryAfterMs)
    // A refusal without Retry-After must not move the next call forward.
    this.#nextMs = Math.max(this.#nextMs, nowMs + retryAfterMs)
    this.#next()
  }
}
