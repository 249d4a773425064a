/**
 * @module dashboard/api/server-clock
 * The master's time, so that ages are right on a computer whose clock is wrong. The `Date` header of an answer bounds
 * the difference: the master wrote it, cut to the second, after the request was sent and before the answer came. The
 * estimate moves only when it lies outside these bounds, so it does not tremble.
 */
export class ServerClock {
  readonly #localMs: () => number
  #offsetMs = 0

  constructor(localMs: () => number) {
    this.#localMs = localMs
  }

  /** Learns from one answer. */
  sample(dateHeader: string | null, sentMs: number, receivedMs: number): void {
    const written = Date.parse(dateHeader ?? '')
    if (Number.isNaN(written)) return
    const least = written - receivedMs
    const most = written + 1_000 - sentMs
    this.#offsetMs = Math.min(Math.max(this.#offsetMs, least), most)
  }

  /** How far the clock of this computer is behind the master's, in seconds; negative: ahead. */
  get behindSeconds(): number {
    return this.#offsetMs / 1_000
  }

  /** Unix seconds, as every time on the wire. */
  nowSeconds(): number {
    return (this.#localMs() + this.#offsetMs) / 1_000
  }
}
