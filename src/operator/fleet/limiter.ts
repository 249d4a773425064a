/**
 * @module operator/fleet/limiter
 * How fast the master is asked: evenly, at a rate that grows while it keeps up and halves when it says that it does not.
 *
 *   50/s ──a second without refusal: +5/s──▶ … 400/s
 *     ▲ └──429, 503: halved once for all calls that were under way, and a pause of `Retry-After`
 *
 * What only keeps the table current yields to the calls of reconciles, for a while: fifty reads of stale workers must not
 * stand before somebody's edit.
 */
import type { Clock, Timers } from '../../runtime/index.ts'

const START_PER_SECOND = 50
const MAX_PER_SECOND = 400
const MIN_PER_SECOND = 1
const STEP_PER_SECOND = 5
/** Calls that may go out together after a quiet time. */
const BURST_MS = 100
/** As long as a call lets others go first. */
const YIELD_MS = 1_000

export class Limiter {
  readonly #clock: Clock
  readonly #timers: Timers
  #perSecond = START_PER_SECOND
  /** Since when the rate has grown. */
  #cleanSinceMs: number
  /** When the next call may leave. */
  #nextMs: number
  #pausedUntilMs = 0
  #halvedMs = -Infinity
  #refusals = 0

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

  /** Resolves when a call may leave; one that yields, when nobody else waits or it has waited long enough. @throws what `signal` aborted with. */
  async turn(signal: AbortSignal, yields = false): Promise<void> {
    if (yields) await this.#nobodyWaits(signal)
    for (let refusals = -1; refusals !== this.#refusals;) {
      signal.throwIfAborted()
      refusals = this.#refusals // Another one while this waits: the turn is lost, and is taken anew at the new rate.
      const nowMs = this.#clock.monotonicMs()
      const gapMs = 1_000 / this.perSecond
      const turnMs = Math.max(this.#nextMs, nowMs - BURST_MS)
      this.#nextMs = turnMs + gapMs
      if (turnMs > nowMs) await this.#timers.sleep(turnMs - nowMs, signal)
    }
  }

  async #nobodyWaits(signal: AbortSignal): Promise<void> {
    const endMs = this.#clock.monotonicMs() + YIELD_MS
    for (;;) {
      const waitMs = Math.min(this.#nextMs, endMs) - this.#clock.monotonicMs()
      if (waitMs <= 0) return
      await this.#timers.sleep(waitMs, signal)
    }
  }

  /** The master refused a call that left at `sentMs`. */
  refused(sentMs: number, retryAfterMs: number): void {
    const nowMs = this.#clock.monotonicMs()
    if (sentMs >= this.#halvedMs) {
      this.#perSecond = Math.max(MIN_PER_SECOND, this.perSecond / 2)
      this.#halvedMs = nowMs
    }
    this.#refusals += 1
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, nowMs + retryAfterMs)
    this.#nextMs = this.#cleanSinceMs = this.#pausedUntilMs
  }
}
