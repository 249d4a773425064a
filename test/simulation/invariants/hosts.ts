/**
 * Checks that the event stream reports the workers of a lost master as disconnected.
 *
 *   V3  30 s after a master was lost together with its workers, the event stream says that they are disconnected (G12)
 */
import { itemsOf, type LoggedEvent } from '../../../src/storage/index.ts'
import type { Fault } from '../plan.ts'
import { Calm } from './calm.ts'
import type { CheckDeps, CreateCheck, InvariantCheck } from './invariant.ts'

const PUBLISHED_WITHIN_MS = 30_000
/** After this calm time, all masters have started again and have read the heartbeats of each other. */
const SETTLED_MS = 45_000

class HostCheck implements InvariantCheck {
  readonly #deps: CheckDeps
  readonly #calm: Calm
  /** When the event stream last reported a worker as disconnected, by worker. */
  readonly #disconnectedAtMs = new Map<string, number>()
  #outages = 0

  constructor(deps: CheckDeps) {
    this.#deps = deps
    this.#calm = new Calm(deps)
  }

  appended(events: readonly LoggedEvent[]): void {
    for (const data of events.filter(({ name }) => name === 'worker.disconnected').flatMap(itemsOf)) {
      const { worker_id: id = '' } = JSON.parse(data) as { worker_id?: string }
      this.#disconnectedAtMs.set(id, this.#deps.time.monotonicMs())
    }
  }

  faultsEnded(): void {
    this.#calm.faultsEnded()
  }

  injected(fault: Fault): void {
    const isSettled = this.#calm.forMs > SETTLED_MS
    this.#calm.injected(fault)
    if (fault.kind === 'store_unavailable') this.#outages += 1
    if (fault.kind !== 'lose_host' || !isSettled) return
    const { time } = this.#deps
    const [atMs, outages] = [time.monotonicMs(), this.#outages]
    const lost = this.#deps.plan.workers
      .map((_, at) => `worker-${at}`)
      .filter((id) => this.#deps.masterOf(id) === fault.target)
    if (lost.length > 0) this.#deps.count('master lost together with its workers')
    time.after(PUBLISHED_WITHIN_MS, () => {
      const unnamed = lost.filter((id) => (this.#disconnectedAtMs.get(id) ?? 0) < atMs)
      if (unnamed.length > 0 && outages === this.#outages)
        this.#deps.fail(
          'V3',
          `30 s after ${fault.target} was lost, no event says that ${unnamed.join()} are disconnected`,
        )
    })
  }
}

export const checkHosts: CreateCheck = (deps) => new HostCheck(deps)
