/**
 * @module worker/stats-schedule
 * Decides when to send a stats frame: every 15 s, 1 s after the number of slots changed, and 3 s after the first
 * failure under a config, so that a config that makes all tasks fail is known early.
 */
import { STATE_EVERY_MS } from '../protocol/index.ts'
import type { Cancel, Timers } from '../runtime/index.ts'
import type { Stats } from './stats.ts'

/** Changes of the number of slots within this time are reported together. */
const SLOTS_GAP_MS = 1_000
const FIRST_FAILURE_MS = 3_000

export interface StatsScheduleDeps {
  readonly timers: Timers
  readonly stats: Pick<Stats, 'hasSlotCountChanged'>
  /** Requests a stats frame from the outbox. */
  readonly send: () => void
}

export class StatsSchedule {
  readonly #deps: StatsScheduleDeps
  readonly #cancelPeriod: Cancel
  #cancelGap: Cancel | undefined
  #cancelFailure: Cancel | undefined

  /** Starts the period. */
  constructor(deps: StatsScheduleDeps) {
    this.#deps = deps
    this.#cancelPeriod = deps.timers.every(STATE_EVERY_MS, deps.send)
  }

  stop(): void {
    this.#cancelPeriod()
    this.#cancelGap?.()
    this.#cancelFailure?.()
  }

  /** Called when slots started or ended. */
  slotsChanged(): void {
    const { timers, stats, send } = this.#deps
    if (!stats.hasSlotCountChanged) return
    this.#cancelGap ??= timers.after(SLOTS_GAP_MS, () => {
      this.#cancelGap = undefined
      if (stats.hasSlotCountChanged) send()
    })
  }

  /** Called for the first failure under a config. */
  firstFailure(): void {
    this.#cancelFailure ??= this.#deps.timers.after(FIRST_FAILURE_MS, () => {
      this.#cancelFailure = undefined
      this.#deps.send()
    })
  }
}
