/**
 * @module worker/progress-reports
 * Sends the progress that runs report (D114): the newest of each lease, at most once a second all together. The first
 * report is sent immediately, and so is the last one of a run that failed, because the next run continues there.
 */
import type { Log, Timers } from '../runtime/index.ts'
import type { HeldLease } from './lease.ts'
import type { MasterFeatures } from './master-features.ts'
import { asRpcError } from './rpc-client.ts'

const EVERY_MS = 1_000

/** Leases with their newest progress as JSON. */
export type Reports = ReadonlyMap<HeldLease, string>

export interface ProgressReportsDeps {
  readonly timers: Timers
  readonly log: Log
  readonly features: Pick<MasterFeatures, 'drop' | 'has'>
  /** Extends the leases with their progress. */
  readonly send: (reports: Reports) => Promise<void>
  readonly isHeld: (lease: HeldLease) => boolean
}

export class ProgressReports {
  readonly #deps: ProgressReportsDeps
  #waiting = new Map<HeldLease, string>()
  #isPaused = false

  constructor(deps: ProgressReportsDeps) {
    this.#deps = deps
  }

  /** Replaces the progress of a lease. @param text JSON. */
  add(lease: HeldLease, text: string): void {
    this.#waiting.set(lease, text)
    if (!this.#isPaused) this.#sendAndPause()
  }

  /** Sends what waits for a lease whose run did not finish its task. */
  flush(lease: HeldLease): void {
    const text = this.#waiting.get(lease)
    this.#waiting.delete(lease)
    if (text !== undefined) void this.#send(new Map([[lease, text]]))
  }

  forget(lease: HeldLease): void {
    this.#waiting.delete(lease)
  }

  #sendAndPause(): void {
    this.#isPaused = true
    this.#deps.timers.after(EVERY_MS, () => {
      this.#isPaused = false
      if (this.#waiting.size > 0) this.#sendAndPause()
    })
    void this.#send(this.#waiting)
  }

  /** Reports that cannot be sent wait for the next second, unless a newer one has replaced them. */
  async #send(reports: Reports): Promise<void> {
    const { features, isHeld, log, send } = this.#deps
    if (!features.has('progress')) return
    if (reports === this.#waiting) this.#waiting = new Map()
    try {
      await send(reports)
    } catch (error) {
      const { code, message } = asRpcError(error)
      if (code === 'invalid_params') {
        log.warn('the master rejects the progress of tasks; reporting none for 60 s', { error: message })
        return features.drop('progress')
      }
      for (const [lease, text] of reports)
        if (isHeld(lease) && !this.#waiting.has(lease)) this.#waiting.set(lease, text)
      if (this.#waiting.size > 0 && !this.#isPaused) this.#sendAndPause()
    }
  }
}
