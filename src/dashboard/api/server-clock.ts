/**
 * @module dashboard/api/server-clock
 * Estimates the master's clock, so that ages are correct on a computer whose clock is wrong. The `Date` header of a
 * response bounds the offset: the master wrote it, truncated to the second, between request and response. The estimate
 * changes only when it is outside these bounds, so it does not jitter.
 */
export class ServerClock {
  readonly #localMs: () => number
  #offsetMs = 0

  constructor(localMs: () => number) {
    this.#localMs = localMs
  }

  /** Updates the estimate from one response. */
  sample(dateHeader: string | null, sentMs: number, receivedMs: number): void {
    const written = Date.parse(dateHeader ?? '')
    if (Number.isNaN(written)) return
    const least = written - receivedMs
    const most = written + 1_000 - sentMs
    this.#offsetMs = Math.min(Math.max(this.#offsetMs, least), most)
  }

  /** How many seconds this computer's clock is behind the master's; negative if it is ahead. */
  get behindSeconds(): number {
    return this.#offsetMs / 1_000
  }

  /** The master's time in Unix seconds. */
  nowSeconds(): number {
    return (this.#localMs() + this.#offsetMs) / 1_000
  }
}
