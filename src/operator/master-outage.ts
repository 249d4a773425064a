/**
 * @module operator/master-outage
 * Parks the work queue while the master is unreachable. At first keys only wait, so a short outage changes no status.
 * After a minute the queue is released: each FleetWorker is reconciled without a call to the master, and its status
 * reports the outage:
 *
 *   reachable ──breaker opens──▶ parked ──a minute without a response──▶ outage confirmed, queue not parked
 *     ▲                             │                                        │
 *     └────breaker closes───────────┴────────────────────────────────────────┘ all keys are added again
 */
import type { FleetTable } from './fleet/index.ts'
import type { WorkQueue } from './kube/index.ts'

/** How long statuses keep the last known facts. */
export const UNAVAILABLE_AFTER_MS = 60_000

export interface MasterOutageDeps {
  readonly table: Pick<FleetTable, 'unavailableMs'>
  readonly queue: Pick<WorkQueue, 'park'>
  /** Called when the outage is confirmed, and when the master recovers from a confirmed outage. */
  readonly onChange: (isUnavailable: boolean) => void
}

export class MasterOutage {
  readonly #deps: MasterOutageDeps
  #reason: string | null = null
  #isUnavailable = false

  constructor(deps: MasterOutageDeps) {
    this.#deps = deps
  }

  /** The breaker opened for a reason, or closed (`null`). */
  onBreaker(reason: string | null): void {
    this.#reason = reason
    this.#park()
    this.check()
  }

  /** Checks the duration of the outage. Call it periodically, since time alone changes the result. */
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
