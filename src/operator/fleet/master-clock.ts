/**
 * @module operator/fleet/master-clock
 * Estimates the clock of the master from the `Date` header of its responses. The header has whole seconds, so half a
 * second is added: the estimate is at most 0.5 s ahead. It is behind by the time that a response takes, and then a
 * change is refused too early, never too late.
 */
import type { Clock } from '../../runtime/index.ts'

const HALF_SECOND_MS = 500
/** Covers the error of the estimate, and a difference of 1.5 s between the clocks of several masters. */
const MARGIN_MS = 2_000

export class MasterClock {
  readonly #clock: Clock
  /** Milliseconds by which the master's clock is ahead of the monotonic clock. */
  #aheadMs: number | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Applies the `Date` header of a response that has just arrived; `undefined` if it has none. */
  observe(respondedAtMs: number | undefined): void {
    if (respondedAtMs !== undefined) this.#aheadMs = respondedAtMs + HALF_SECOND_MS - this.#clock.monotonicMs()
  }

  /** Milliseconds since 1970. Before the first response: by the clock of this machine. */
  nowMs(): number {
    return this.#at(this.#clock.monotonicMs()) ?? this.#clock.wallMs()
  }

  /**
   * Converts the end of a leadership into a time of the master.
   * @param leadsUntilMs The earliest time at which another replica may lead, by the monotonic clock. `Infinity`: there
   *   is no other replica. `-Infinity`: this one does not lead.
   * @returns milliseconds since 1970 after which the master refuses a change. `undefined`: never, because there is no
   *   other replica or the master's clock is not known yet.
   */
  notAfterMs(leadsUntilMs: number): number | undefined {
    if (leadsUntilMs === Infinity) return undefined
    const notAfterMs = this.#at(leadsUntilMs - MARGIN_MS)
    return notAfterMs === undefined ? undefined : Math.max(0, notAfterMs)
  }

  #at(monotonicMs: number): number | undefined {
    return this.#aheadMs === undefined ? undefined : Math.floor(monotonicMs + this.#aheadMs)
  }
}
