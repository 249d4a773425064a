/**
 * @module operator/master-away
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
export const AWAY_MS = 60_000

export interface MasterAwayDeps {
  readonly table: Pick<FleetTable, 'awayMs'>
  readonly queue: Pick<WorkQueue, 'park'>
  /** It is known to be away, or back after that. */
  readonly onTurn: (isAway: boolean) => void
}

export class MasterAway {
  readonly #deps: MasterAwayDeps
  #reason: string | null = null
  #isAway = false

  constructor(deps: MasterAwayDeps) {
    this.#deps = deps
  }

  /** The breaker opened, for a reason, or closed. */
  turned(reason: string | null): void {
    this.#reason = reason
    this.#park()
    this.look()
  }

  /** To be called now and then, as time alone makes a difference. */
  look(): void {
    const isAway = this.#deps.table.awayMs >= AWAY_MS
    if (isAway === this.#isAway) return
    this.#isAway = isAway
    this.#park()
    this.#deps.onTurn(isAway)
  }

  #park(): void {
    this.#deps.queue.park(this.#isAway ? null : this.#reason)
  }
}
