/**
 * @module operator/sweep
 * Looks at everything once a period, evenly spread and behind all other work: what moves without an event (when a worker
 * was last seen, how much it uses) reaches the statuses this way, and what was forgotten is found.
 *
 * Once a period it also deletes claims that are left over: of FleetWorkers that are gone, on workers that no other one
 * names. Each claim once: one that comes back is held by somebody, who sees that FleetWorker in another cluster.
 */
import type { Log, Time } from '../runtime/index.ts'
import { isLeftOver, type FleetTable, type MasterWriter } from './fleet/index.ts'
import { targetOf, type FleetWorkerObject } from './fleetworker/index.ts'
import { keyOf, type ObjectCache, type ObjectKey, type WorkQueue } from './kube/index.ts'

const TICK_MS = 1_000
const MIN_PERIOD_TICKS = 60
const KEYS_PER_TICK = 10
const SWEEP = -100
/** As it stands in the history of a worker. */
const ACTOR = 'kubernetes:muster-operator'

export interface SweepDeps {
  readonly time: Time
  readonly log: Log
  readonly queue: Pick<WorkQueue, 'add'>
  readonly cache: ObjectCache<FleetWorkerObject>
  readonly table: Pick<FleetTable, 'synced' | 'workers'>
  readonly master: Pick<MasterWriter, 'release'>
  readonly watches: (namespace: string) => boolean
  readonly types: { readonly types: Iterable<string>; dropTypes(): void }
}

export class Sweep {
  readonly #deps: SweepDeps
  readonly #deleted = new Set<string>()
  #keys: readonly ObjectKey[] = []
  #next = 0
  #ticks = 0
  /** The first one is quiet: whatever leads has just looked at everything. */
  #period = MIN_PERIOD_TICKS

  constructor(deps: SweepDeps) {
    this.#deps = deps
  }

  /** Resolves when the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#deps.time.sleep(TICK_MS, signal).catch(() => {}) // Aborted: the loop ends.
      if (!signal.aborted) await this.#tick(signal).catch((error: unknown) => this.#failed(error, signal))
    }
  }

  async #tick(signal: AbortSignal): Promise<void> {
    if (this.#ticks === this.#period) {
      this.#keys = [...this.#deps.cache.all()].map(({ metadata }) => keyOf(metadata))
      this.#period = Math.max(MIN_PERIOD_TICKS, Math.ceil(this.#keys.length / KEYS_PER_TICK))
      this.#next = this.#ticks = 0
      await this.#releaseLeftOver(signal)
    }
    this.#ticks += 1
    const end = Math.ceil((this.#keys.length * this.#ticks) / this.#period)
    for (; this.#next < end; this.#next += 1) this.#deps.queue.add(this.#keys[this.#next] as ObjectKey, SWEEP)
  }

  async #releaseLeftOver(signal: AbortSignal): Promise<void> {
    const { cache, log, master, table, types } = this.#deps
    if (!cache.synced || !table.synced) return
    for (const type of types.types) {
      for (const { workerId, claim } of this.#leftOver(type)) {
        const { kind } = await master.release({ type, workerId }, ACTOR, signal)
        if (kind !== 'ok') return // Another time.
        this.#deleted.add(claim)
        log.info('a claim was left over by a FleetWorker that is gone; it was deleted', { worker: `${type}/${workerId}`, claim })
      }
    }
    types.dropTypes()
  }

  #leftOver(type: string): readonly { readonly workerId: string; readonly claim: string }[] {
    const { cache, table, watches } = this.#deps
    const isLive = (claim: string): boolean => cache.byIndex('claim', claim).length > 0
    const isWanted = (workerId: string): boolean => cache.byIndex('target', targetOf(type, workerId)).length > 0
    return [...table.workers(type)]
      .flatMap(({ worker_id: workerId, managed_by: claim }) => (claim === null ? [] : [{ workerId, claim }]))
      .filter(({ workerId, claim }) => !isWanted(workerId) && !this.#deleted.has(claim) && isLeftOver(claim, { isLive, watches }))
  }

  #failed(error: unknown, signal: AbortSignal): void {
    if (!signal.aborted) this.#deps.log.error('a sweep failed, the next one follows', { error })
  }
}
