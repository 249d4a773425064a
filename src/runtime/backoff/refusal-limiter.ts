/**
 * @module runtime/backoff/refusal-limiter
 * Bounds the requests of one process to one peer while the peer refuses them: HTTP 429, 500, 502, 503 or 504, with or
 * without `Retry-After`, sent by the peer itself or by a proxy before it. One limiter covers every request of the
 * process, so that many callers together stay below the bound, and a caller that retries in a loop does too (D67).
 *
 *   open ──3 refusals in a row──▶ limited: one request each 0.4–0.5 s, later each 1.5–2 s, none before `Retry-After`
 *     ▲                              │
 *     └───── a request is served ◀───┘ everyone who waits leaves
 *
 * A refusal between requests that are served changes nothing here: a rate limit of submits alone must not slow down
 * reads. Each caller still has a backoff of its own; this is the bound for all of them.
 */
import { Backoff } from './backoff.ts'
import type { MonotonicClock, OneShotTimers, UnitRandom } from './ports.ts'
import { retryAfterDelayMs } from './retry-after.ts'

const REFUSALS_IN_A_ROW = 3
const BASE_MS = 500
const CAP_MS = 2_000
const FLOOR = 0.8

const REFUSALS: ReadonlySet<number> = new Set([429, 500, 502, 503, 504])
/** Whether a peer that returned this status cannot serve requests now. */
export const isRefusalStatus = (status: number): boolean => REFUSALS.has(status)

export interface RefusalLimiterDeps {
  readonly clock: MonotonicClock
  readonly timers: OneShotTimers
  readonly random: UnitRandom
  /** The longest gap between two requests without `Retry-After`; 2 s when left out. */
  readonly capMs?: number
}

interface Waiting {
  readonly leave: () => void
}

export class RefusalLimiter {
  readonly #deps: RefusalLimiterDeps
  readonly #backoff: Backoff
  readonly #waiting: Waiting[] = []
  #inARow = 0
  /** When the next request may leave; used while limited. */
  #nextMs = -Infinity
  #cancelTimer: (() => void) | undefined

  constructor(deps: RefusalLimiterDeps) {
    this.#deps = deps
    this.#backoff = new Backoff({ baseMs: BASE_MS, capMs: deps.capMs ?? CAP_MS, floor: FLOOR, random: deps.random })
  }

  /** Whether requests are limited now. */
  get isLimited(): boolean {
    return this.#inARow >= REFUSALS_IN_A_ROW
  }

  /**
   * Resolves when a request may be sent; immediately unless limited. First in, first out.
   * @throws the signal's reason.
   */
  async turn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (!this.isLimited) return
    await new Promise<void>((resolve, reject) => {
      const leave = (): void => {
        signal.removeEventListener('abort', onAbort)
        resolve()
      }
      const onAbort = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
        this.#schedule()
        reject(signal.reason as Error)
      }
      const waiting: Waiting = { leave }
      this.#waiting.push(waiting)
      signal.addEventListener('abort', onAbort, { once: true })
      this.#schedule()
    })
  }

  /** A request was served, or refused for a reason that lies in the request itself: the peer works. */
  served(): void {
    this.#inARow = 0
    this.#backoff.reset()
    this.#nextMs = -Infinity
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    for (const { leave } of this.#waiting.splice(0)) leave()
  }

  /** @param requestedMs the wait that `Retry-After` requests; 0 without the header. */
  refused(requestedMs = 0): void {
    const nowMs = this.#deps.clock.monotonicMs()
    this.#inARow += 1
    if (this.#inARow === REFUSALS_IN_A_ROW) this.#nextMs = Math.max(this.#nextMs, nowMs + this.#backoff.nextMs())
    if (requestedMs > 0)
      this.#nextMs = Math.max(this.#nextMs, nowMs + retryAfterDelayMs(requestedMs, this.#deps.random))
    this.#schedule()
  }

  /** One timer, for the first that waits. */
  #schedule(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    if (this.#waiting.length === 0) return
    const waitMs = this.#nextMs - this.#deps.clock.monotonicMs()
    if (waitMs > 0) this.#cancelTimer = this.#deps.timers.after(waitMs, () => this.#schedule())
    else this.#release()
  }

  /** Sends the first that waits. The gap to the next one counts from now, whenever the response to this one arrives. */
  #release(): void {
    this.#nextMs = this.#deps.clock.monotonicMs() + this.#backoff.nextMs()
    this.#waiting.shift()?.leave()
    this.#schedule()
  }
}
