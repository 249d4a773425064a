/** Measures for how long a run has been undisturbed, since liveness may be expected only after that. */
import type { Fault } from '../plan.ts'
import type { CheckDeps } from './invariant.ts'

/** After faults end, dead processes have started again within this time. */
const RESTARTED_MS = 6_000

export class Calm {
  readonly #deps: Pick<CheckDeps, 'time'>
  #sinceMs = Infinity

  constructor(deps: Pick<CheckDeps, 'time'>) {
    this.#deps = deps
  }

  /** Milliseconds since the last disturbance ended; 0 or less during one. */
  get forMs(): number {
    return this.#deps.time.monotonicMs() - this.#sinceMs
  }

  faultsEnded(): void {
    this.#sinceMs = this.#deps.time.monotonicMs() + RESTARTED_MS
  }

  /** The disturbances of the calm phase are a store that is unavailable, and a lost host. */
  injected(fault: Fault): void {
    if (this.#sinceMs === Infinity) return
    const nowMs = this.#deps.time.monotonicMs()
    if (fault.kind === 'store_unavailable') this.#sinceMs = Math.max(this.#sinceMs, nowMs + fault.ms)
    if (fault.kind === 'lose_host') this.#sinceMs = Math.max(this.#sinceMs, nowMs + fault.ms + RESTARTED_MS)
  }
}
