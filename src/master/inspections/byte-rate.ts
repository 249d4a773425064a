/**
 * @module master/inspections/byte-rate
 * Limits bytes per second with a token bucket. Bytes are counted after they were read, so the bucket may go into debt;
 * the next read waits until the debt is refilled.
 */
import type { Clock } from '../../runtime/index.ts'

export class ByteRate {
  readonly #clock: Clock
  readonly #bytesPerSecond: number
  readonly #burst: number
  #bytes: number
  #atMs: number

  constructor(clock: Clock, bytesPerSecond: number, burst: number) {
    this.#clock = clock
    this.#bytesPerSecond = bytesPerSecond
    this.#burst = burst
    this.#bytes = burst
    this.#atMs = clock.monotonicMs()
  }

  /** How long to wait before the next read, in milliseconds; 0 without a debt. */
  get waitMs(): number {
    this.#refill()
    return this.#bytes >= 0 ? 0 : Math.ceil((-this.#bytes / this.#bytesPerSecond) * 1_000)
  }

  get isFull(): boolean {
    this.#refill()
    return this.#bytes >= this.#burst
  }

  spend(bytes: number): void {
    this.#refill()
    this.#bytes -= bytes
  }

  #refill(): void {
    const nowMs = this.#clock.monotonicMs()
    this.#bytes = Math.min(this.#burst, this.#bytes + ((nowMs - this.#atMs) / 1_000) * this.#bytesPerSecond)
    this.#atMs = nowMs
  }
}
