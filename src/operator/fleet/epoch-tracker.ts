/**
 * @module operator/fleet/epoch-tracker
 * Which life of the master's store the table speaks of, and whether that store forgot something: it is another one (its
 * epoch changed), or went back to an older state of itself (a generation fell). Either is told once, however many
 * workers show it, and everything is judged again.
 * @see D15, D46
 */
import type { Clock } from '../../runtime/index.ts'
import type { Registered, Remembered } from './ports.ts'

const FALL_EVERY_MS = 60_000

export interface EpochTrackerDeps {
  readonly clock: Clock
  /** The table is to be read anew. */
  readonly onEpoch: () => void
  readonly onReset: (message: string) => void
}

export class EpochTracker {
  readonly #deps: EpochTrackerDeps
  #epoch = ''
  /** The number of what showed the epoch first. */
  #since = 0
  /** The epoch whose beginning was told. */
  #told = ''
  #fellMs = -Infinity

  constructor(deps: EpochTrackerDeps) {
    this.#deps = deps
  }

  get epoch(): string {
    return this.#epoch
  }

  /** An answer names its epoch. False: it was asked for in a life that is over. */
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
    if (this.#told === this.#epoch) return
    this.#told = this.#epoch
    this.#deps.onReset("the master's store is another one than before")
  }
}
