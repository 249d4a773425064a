/**
 * @module operator/periodic-resync
 * Adds every key once a period, evenly spread and with the lowest priority. This brings changes without an event (when
 * a worker was last seen, its resource usage) into the statuses, and finds what an earlier round has missed.
 *
 * Once a period it also deletes orphaned claims: claims of deleted FleetWorkers, on workers that no other FleetWorker
 * names. Each claim is deleted once. A claim that reappears belongs to an operator of another cluster, which has that
 * FleetWorker. A type that no FleetWorker names is dropped only when it has no orphaned claim. Types that no
 * FleetWorker has named since this term began are visited once, one per 2 s, after the first period. Their last
 * FleetWorker may have been deleted while no operator ran.
 */
import { sleep, type Log, type Time } from '../runtime/index.ts'
import { isOrphaned, type Fleet, type MasterWriter } from './fleet/index.ts'
import { targetOf, type FleetWorkerObject } from './fleetworker/index.ts'
import { keyOf, PRIORITY, type ObjectCache, type ObjectKey, type WorkQueue } from './kube/index.ts'

const TICK_MS = 1_000
const MIN_PERIOD_TICKS = 60
const KEYS_PER_TICK = 10
/** Interval of visits to types that no FleetWorker names. Reading one costs the master a list. */
const TICKS_PER_VISIT = 2
/** The actor that the history of a worker shows. */
const ACTOR = 'kubernetes:muster-operator'

export interface PeriodicResyncDeps {
  readonly time: Time
  readonly log: Log
  readonly queue: Pick<WorkQueue, 'add'>
  readonly cache: ObjectCache<FleetWorkerObject>
  readonly table: Pick<Fleet, 'isSynced' | 'workers' | 'offered'>
  readonly master: Pick<MasterWriter, 'releaseOrphaned'>
  readonly watches: (namespace: string) => boolean
  /** Whether a claim is that of an existing FleetWorker or set. */
  readonly isLiveClaim: (claim: string) => boolean
  readonly types: TypesRead
}

/** The types whose workers the table reads. */
interface TypesRead {
  readonly types: Iterable<string>
  /** Reads a type that no FleetWorker names. */
  readType(type: string): void
  /** Stops reading the type, unless a FleetWorker names it. */
  dropType(type: string): void
}

interface OrphanedClaim {
  readonly type: string
  readonly workerId: string
  readonly claim: string
}

export class PeriodicResync {
  readonly #deps: PeriodicResyncDeps
  /** Claims that were deleted, or cannot be deleted. */
  readonly #done = new Set<string>()
  /** Types to visit although no FleetWorker names them. `undefined`: not requested yet. */
  #unvisited: string[] | undefined
  /** The type that is visited now. */
  #visiting: string | undefined
  #keys: readonly ObjectKey[] = []
  #next = 0
  #ticks = 0
  /** Skips the first period, because the term has just looked at every resource. */
  #period = MIN_PERIOD_TICKS

  constructor(deps: PeriodicResyncDeps) {
    this.#deps = deps
  }

  /** Resolves when the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (await sleep(this.#deps.time, TICK_MS, signal))
      await this.#tick(signal).catch((error: unknown) => this.#failed(error, signal))
  }

  async #tick(signal: AbortSignal): Promise<void> {
    if (this.#ticks === this.#period) {
      this.#keys = [...this.#deps.cache.all()].map(({ metadata }) => keyOf(metadata))
      this.#period = Math.max(MIN_PERIOD_TICKS, Math.ceil(this.#keys.length / KEYS_PER_TICK))
      this.#next = this.#ticks = 0
      await this.#releaseOrphaned(signal)
    }
    this.#ticks += 1
    if (this.#ticks % TICKS_PER_VISIT === 0) await this.#visit(signal)
    const end = Math.ceil((this.#keys.length * this.#ticks) / this.#period)
    for (; this.#next < end; this.#next += 1) this.#deps.queue.add(this.#keys[this.#next] as ObjectKey, PRIORITY.resync)
  }

  async #releaseOrphaned(signal: AbortSignal): Promise<void> {
    const { cache, table, types } = this.#deps
    if (!cache.isSynced || !table.isSynced) return
    for (const type of types.types) if (await this.#releaseOf(type, signal)) return // Continue in the next period.
    this.#unvisited ??= (await table.offered(signal))?.filter((type) => ![...types.types].includes(type))
  }

  /** @returns whether to send no further call in this period. */
  async #releaseOf(type: string, signal: AbortSignal): Promise<boolean> {
    for (const each of this.#orphanedClaims(type)) {
      if (this.#isOrphaned(each) && (await this.#release(each, signal))) return true
    }
    // Its last FleetWorker may have been deleted meanwhile.
    if (this.#orphanedClaims(type).length === 0) this.#deps.types.dropType(type)
    return false
  }

  /** @returns whether to send no further call in this period. */
  async #release({ type, workerId, claim }: OrphanedClaim, signal: AbortSignal): Promise<boolean> {
    const { log, master } = this.#deps
    const response = await master.releaseOrphaned({ type, workerId }, ACTOR, signal)
    const fields = { worker: `${type}/${workerId}`, claim }
    switch (response.kind) {
      case 'ok':
        log.info('deleted the claim of a FleetWorker that no longer exists', fields)
        break
      case 'rejected':
      case 'too_large':
      case 'bug': // The master would refuse the same call again.
        log.error(
          'the master refused to delete an orphaned claim; DELETE its path …/workers/{id}/claim with an admin token',
          {
            ...fields,
            error: response.message,
          },
        )
        break
      case 'unavailable':
      case 'throttled':
      case 'not_leading': // Every other call would fail as well.
        return true
      case 'forbidden':
      case 'not_registered':
      case 'stale':
      case 'unknown_type':
        return false
    }
    this.#done.add(claim)
    return false
  }

  #orphanedClaims(type: string): readonly OrphanedClaim[] {
    return [...this.#deps.table.workers(type)]
      .flatMap(({ worker_id: workerId, managed_by: claim }) => (claim === null ? [] : [{ type, workerId, claim }]))
      .filter((each) => this.#isOrphaned(each))
  }

  #isOrphaned({ type, workerId, claim }: OrphanedClaim): boolean {
    const { cache, isLiveClaim, watches } = this.#deps
    const isWanted = cache.byIndex('target', targetOf(type, workerId)).length > 0
    return !isWanted && !this.#done.has(claim) && isOrphaned(claim, { isLive: isLiveClaim, watches })
  }

  /** Deletes the orphaned claims of the visited type, and starts reading the next one. */
  async #visit(signal: AbortSignal): Promise<void> {
    const { cache, table, types } = this.#deps
    if (this.#unvisited === undefined || !cache.isSynced || !table.isSynced) return
    if (this.#visiting !== undefined && (await this.#releaseOf(this.#visiting, signal))) return
    this.#visiting = this.#unvisited.pop()
    if (this.#visiting !== undefined) types.readType(this.#visiting)
  }

  #failed(error: unknown, signal: AbortSignal): void {
    if (!signal.aborted) this.#deps.log.error('a resync failed, retrying at the next one', { error })
  }
}
