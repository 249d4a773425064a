/**
 * @module operator/master-outage
 * What an absence of the master means for the queue. At first nothing: keys wait, as no status is to change for a blip.
 * After a minute each FleetWorker is looked at once, without a call to the master, so that its status says so:
 *
 *   there ──breaker opens──▶ parked ──a minute without an answer──▶ known to be away: nothing is parked
 *     ▲                        │                                        │
 *     └────breaker closes──────┴────────────────────────────────────────┘ all keys again
 */
import type { FleetTable } from './fleet/index.ts'
import type { WorkQueue } from './kube/index.ts'

/** As long as statuses keep what was last known. */
export const UNAVAILABLE_AFTER_MS = 60_000

export interface MasterOutageDeps {
  readonly table: Pick<FleetTable, 'unavailableMs'>
  readonly queue: Pick<WorkQueue, 'park'>
  /** It is known to be away, or back after that. */
  readonly onChange: (isUnavailable: boolean) => void
}

export class MasterOutage {
  readonly #deps: MasterOutageDeps
  #reason: string | null = null
  #isUnavailable = false

  constructor(deps: MasterOutageDeps) {
    this.#deps = deps
  }

  /** The breaker opened, for a reason, or closed. */
  onBreaker(reason: string | null): void {
    this.#reason = reason
    this.#park()
    this.check()
  }

  /** To be called now and then, as time alone makes a difference. */
  check(): void {
    const isUnavailable = this.#deps.table.unavailableMs >= UNAVAILABLE_AFTER_MS
    if (isUnavailable === this.#isUnavailable) return
    this.#isUnavailable = isUnavailable
    this.#park()
    this.#deps.onChange(isUnavailable)
  }

  #park(): void {
    this.#deps.queue.park(this.#isUnavailable ? null : this.#reason)
  }
}
