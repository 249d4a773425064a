/**
 * @module storage/memory/memory-backend
 * Keeps a store in memory (`memory://`). It is the reference implementation of the contract, and the test double of
 * everything that uses storage. Nothing survives a close.
 *
 * Each method computes synchronously and returns a settled promise, so calls take effect in the order in which they
 * were made. Values go in and out as text; no object is shared with a caller. Backend time is the wall clock at
 * construction plus the monotonic time since, so a step of the wall clock neither ends nor prolongs a lease.
 */
import { FleetError } from '../../protocol/index.ts'
import { callMethod, groupsOf, LocalBus, LocalEventLog } from '../index.ts'
import { TokenSequences } from './token-sequence.ts'
import { MemoryBudget } from './memory-budget.ts'
import { Masters } from './masters.ts'
import { MemoryConfigs, MemoryStats } from './configs.ts'
import { MemoryCounters, MemoryKv, MemoryLocks } from './primitives.ts'
import { MemoryAudit } from './audit.ts'
import { MemoryEnrolments } from './enrolments.ts'
import { MemoryPools } from './pools.ts'
import { MemoryRevisions } from './revisions.ts'
import { MemoryOperations } from './operations.ts'
import { MemoryRollouts } from './rollouts.ts'
import { MemoryRollups } from './rollups.ts'
import { MemoryStreams } from './streams.ts'
import { MemoryTasks } from './tasks.ts'
import { MemoryWorkers } from './workers.ts'
import { LIMITS, SAFEGUARDS } from './store.ts'
import { WorkerRecords } from './worker-records.ts'
import type { Backend, Health, SyncGroups } from '../index.ts'
import type { Clock, Random } from '../../runtime/index.ts'
import type { Limits, Safeguards, Store } from './store.ts'

const SCHEMA = 1

export interface MemoryBackendOptions {
  readonly clock: Clock
  readonly random: Random
  /** Lower bounds, for tests. */
  readonly limits?: Partial<Limits>
  /** Switches safeguards off, only for tests. */
  readonly controls?: Partial<Safeguards>
}

/** Makes the state of the store between an open and a close. */
function partsOf(store: Store, epoch: string): SyncGroups {
  const masters = new Masters(store)
  const records = new WorkerRecords(store)
  const enrolments = new MemoryEnrolments(store, () => revisions)
  const revisions: MemoryRevisions = new MemoryRevisions(store, records, enrolments)
  return {
    meta: {
      info: () => ({ epoch, schema: SCHEMA, nowMs: store.now() }),
      beat: (masterId) => masters.beat(masterId),
      declare: (masterId, text) => masters.declare(masterId, text),
    },
    workers: new MemoryWorkers(store, { records, masters, enrolments }),
    configs: new MemoryConfigs(store, records, revisions),
    revisions,
    enrolments,
    rollouts: new MemoryRollouts(store),
    operations: new MemoryOperations(store),
    audit: new MemoryAudit(store),
    rollups: new MemoryRollups(store),
    stats: new MemoryStats(records),
    streams: new MemoryStreams(store),
    tasks: new MemoryTasks(store, records),
    pools: new MemoryPools(store),
    kv: new MemoryKv(store),
    locks: new MemoryLocks(store),
    counters: new MemoryCounters(store),
  }
}

export class MemoryBackend implements Backend {
  readonly capabilities = { durable: false, shared: false, pubsub: false }
  readonly #options: MemoryBackendOptions
  readonly #now: () => number
  readonly #fences = new TokenSequences()
  #parts: SyncGroups | null = null
  #since: number

  readonly #open = (): SyncGroups => {
    if (this.#parts === null) throw new FleetError('STORAGE_NOT_OPEN', 'the store is not open', { outcome: 'not_sent' })
    return this.#parts
  }

  /** A call runs before its method returns, so calls take effect in the order in which they were made. */
  readonly #groups = groupsOf((group, method, check) => (...args) => {
    try {
      const part = this.#open()[group]
      check(...args)
      return Promise.resolve(callMethod(part, method, args))
    } catch (error) {
      return Promise.reject(error)
    }
  })
  readonly meta = this.#groups.meta
  readonly workers = this.#groups.workers
  readonly configs = this.#groups.configs
  readonly revisions = this.#groups.revisions
  readonly enrolments = this.#groups.enrolments
  readonly rollouts = this.#groups.rollouts
  readonly operations = this.#groups.operations
  readonly audit = this.#groups.audit
  readonly rollups = this.#groups.rollups
  readonly stats = this.#groups.stats
  readonly streams = this.#groups.streams
  readonly tasks = this.#groups.tasks
  readonly pools = this.#groups.pools
  readonly kv = this.#groups.kv
  readonly locks = this.#groups.locks
  readonly counters = this.#groups.counters
  readonly bus = new LocalBus(this.#open)
  readonly events = new LocalEventLog(this.#open)

  constructor(options: MemoryBackendOptions) {
    const { clock } = options
    const [wall, monotonic] = [clock.wallMs(), clock.monotonicMs()]
    this.#options = options
    this.#now = () => Math.floor(wall + clock.monotonicMs() - monotonic)
    this.#since = this.#now()
  }

  async open(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#parts !== null) return
    const { random, limits, controls } = this.#options
    const bounds = { ...LIMITS, ...limits }
    this.#fences.restart()
    this.#parts = partsOf(
      {
        now: this.#now,
        budget: new MemoryBudget(bounds.textChars),
        sequences: this.#fences,
        limits: bounds,
        safeguards: { ...SAFEGUARDS, ...controls },
      },
      random.uuid(),
    )
    this.events.restart(random.uuid().replaceAll('-', ''))
    this.#since = this.#now()
  }

  async close(): Promise<void> {
    if (this.#parts === null) return
    this.#parts = null
    this.#since = this.#now()
  }

  /**
   * Lets tokens continue above every token that may have been issued until now. A simulation calls it after it has
   * brought the store back to an earlier state, as a Redis does that finds its tokens under another run.
   */
  raiseTokens(): void {
    this.#fences.raise(this.#now())
  }

  health(): Health {
    const ok = this.#parts !== null
    return {
      ok,
      profile: 'volatile',
      sinceMs: this.#since,
      detail: ok ? 'in memory; nothing survives a restart' : 'not open',
    }
  }
}
