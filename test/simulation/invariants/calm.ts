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

  /** A store that is unavailable is the one disturbance of the calm phase. */
  injected(fault: Fault): void {
    if (fault.kind === 'store_unavailable' && this.#sinceMs !== Infinity)
      this.#sinceMs = this.#deps.time.monotonicMs() + fault.ms
  }
}
