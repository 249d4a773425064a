/**
 * @module operator/fleet/epoch-tracker
 * Tracks the epoch of the master's store and detects lost state. The store was replaced if its epoch changed, and went
 * back to an older state if a generation decreased. Each is reported once, however many workers show it, and every
 * worker is compared again.
 * @see D15, D46
 */
import type { Clock } from '../../runtime/index.ts'
import type { Registered, Remembered } from './ports.ts'

const FALL_EVERY_MS = 60_000

export interface EpochTrackerDeps {
  readonly clock: Clock
  /** The table must be read again. */
  readonly onEpoch: () => void
  readonly onReset: (message: string) => void
}

export class EpochTracker {
  readonly #deps: EpochTrackerDeps
  #epoch = ''
  /** The sequence number of the read or event that showed the epoch first. */
  #since = 0
  /** The last epoch that was reported. */
  #reportedEpoch = ''
  #fellMs = -Infinity

  constructor(deps: EpochTrackerDeps) {
    this.#deps = deps
  }

  get epoch(): string {
    return this.#epoch
  }

  /** Records the epoch of a response. @returns false if the request was sent in an earlier epoch. */
  observe(epoch: string, begun: number, now: number): boolean {
    if (epoch === this.#epoch) return true
    if (begun < this.#since) return false
    const isFirst = this.#epoch === ''
    this.#epoch = epoch
    this.#since = now
    if (!isFirst) {
      this.#deps.onEpoch()
      this.#tell()
    }
    return true
  }

  regressed(): void {
    const nowMs = this.#deps.clock.monotonicMs()
    if (nowMs - this.#fellMs < FALL_EVERY_MS) return
    this.#fellMs = nowMs
    this.#deps.onReset("the master's store went back to an older state")
  }

  hasForgotten({ epoch, record }: Registered, remembered: Remembered): boolean {
    const isOther = epoch !== remembered.epoch
    if (isOther && epoch === this.#epoch) this.#tell()
    if (!isOther && record.config_gen < remembered.generation) this.regressed()
    return isOther || record.config_gen < remembered.generation
  }

  #tell(): void {
    if (this.#reportedEpoch === this.#epoch) return
    this.#reportedEpoch = this.#epoch
    this.#deps.onReset("the master's store is another one than before")
  }
}
