/**
 * @module storage/sqlite/backend
 * SqliteBackend implements the storage contract on one SQLite file, for one master. It checks arguments, groups calls,
 * keeps time and watches the disk; only the engine, behind its host, accesses the database.
 *
 *   closed ──open──▶ open ──close──▶ closing: refuses calls, finishes what was accepted ──▶ closed
 *
 * Time is the wall clock at open, or the highest time stored where that is later, plus monotonic time since: a step of
 * the wall clock neither ends nor prolongs a lease, and no restart goes back behind a time that was returned.
 */
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { FleetError } from '../../protocol/index.ts'
import type { Cancel, Clock, Log, Random, Timers } from '../../runtime/index.ts'
import {
  checkArguments,
  groupsOf,
  LocalBus,
  LocalEventLog,
  type Backend,
  type Capabilities,
  type Groups,
  type Health,
  type OnProgress,
  type StorageCall,
} from '../index.ts'
import { ruleOf, storageError, withoutOutcomes, type CallRule } from './calls.ts'
import { Committer } from './committer.ts'
import { InlineHost, ThreadHost, type EngineHost } from './host.ts'

const TICK_MS = 1_000
const DISK_TICKS = 5
/** While the store is never idle, the idle work gets its turn once in so many ticks. */
const BUSY_TICKS = 30
/** Less than this free on the disk, and nothing may grow. */
const MIN_FREE_BYTES = 64 * 1_048_576
/** Less than this free, and outputs and values may not grow: the rest is kept for tasks (D83). */
const MIN_FREE_BESIDE_TASKS = 128 * 1_048_576

export interface SqliteOptions {
  /** The file; its folder is made where it is missing. */
  readonly path: string
  readonly clock: Clock
  readonly timers: Timers
  readonly random: Random
  readonly log?: Log
  /** Where `thread.js` (or `.ts`) lies. Without it the engine runs in this thread and blocks it: for tests. */
  readonly threadUrl?: URL
  /** For tests: a place for the engine that outlives this backend. */
  readonly host?: EngineHost
  /** For tests: how many bytes are free on the disk. */
  readonly freeBytes?: () => Promise<number>
  /** Only for tests: results are returned before their commit. */
  readonly lateCommit?: boolean
}

type State = 'closed' | 'opening' | 'open' | 'closing'

export class SqliteBackend implements Backend {
  readonly capabilities: Capabilities = { durable: true, shared: false, pubsub: false }
  readonly meta: Groups['meta']
  readonly workers: Groups['workers']
  readonly configs: Groups['configs']
  readonly revisions: Groups['revisions']
  readonly enrolments: Groups['enrolments']
  readonly rollouts: Groups['rollouts']
  readonly operations: Groups['operations']
  readonly audit: Groups['audit']
  readonly rollups: Groups['rollups']
  readonly stats: Groups['stats']
  readonly streams: Groups['streams']
  readonly tasks: Groups['tasks']
  readonly pools: Groups['pools']
  readonly kv: Groups['kv']
  readonly locks: Groups['locks']
  readonly counters: Groups['counters']
  readonly bus: LocalBus
  readonly events: LocalEventLog
  readonly #options: SqliteOptions
  readonly #host: EngineHost
  readonly #committer: Committer
  #state: State = 'closed'
  #closing: Promise<void> = Promise.resolve()
  #cancelTick: Cancel = () => undefined
  /** Backend time less monotonic time. */
  #offsetMs = 0
  #health: Health
  #diskLow = false
  #diskTight = false
  #ticks = 0
  /** Changes since the idle work was last done; full ticks without one. */
  #untidy = false
  #quietTicks = 0

  constructor(options: SqliteOptions) {
    this.#options = options
    this.#host =
      options.host ?? (options.threadUrl === undefined ? new InlineHost() : new ThreadHost(options.threadUrl))
    this.#committer = new Committer({
      nowMs: () => this.#nowMs(),
      run: (group) => this.#host.run(group),
      onOutcome: (failure, kind) => this.#noteOutcome(failure, kind),
    })
    this.#health = { ok: false, profile: 'durable', sinceMs: options.clock.wallMs(), detail: 'not open' }
    const gate = (): void => this.#gate()
    this.bus = new LocalBus(gate)
    this.events = new LocalEventLog(gate)
    const groups = groupsOf(
      (group, method) =>
        (...args) =>
          this.#send({ group, method, args }),
    )
    this.meta = groups.meta
    this.workers = groups.workers
    this.configs = groups.configs
    this.revisions = groups.revisions
    this.enrolments = groups.enrolments
    this.rollouts = groups.rollouts
    this.operations = groups.operations
    this.audit = groups.audit
    this.rollups = groups.rollups
    this.stats = groups.stats
    this.streams = groups.streams
    this.tasks = groups.tasks
    this.pools = groups.pools
    this.kv = groups.kv
    this.locks = groups.locks
    this.counters = groups.counters
  }

  async open(signal: AbortSignal, onProgress: OnProgress = () => undefined): Promise<void> {
    signal.throwIfAborted()
    if (this.#state === 'open') return
    if (this.#state === 'opening') throw new TypeError('open was called while an open was under way')
    await this.#closing
    this.#state = 'opening'
    try {
      await this.#start(signal, onProgress)
    } catch (error) {
      this.#state = 'closed'
      await this.#host.close(this.#nowMs())
      throw error
    }
    this.#state = 'open'
  }

  close(): Promise<void> {
    if (this.#state !== 'open') return this.#closing
    this.#state = 'closing'
    this.#closing = this.#stop()
    return this.#closing
  }

  health(): Health {
    return this.#health
  }

  async #start(signal: AbortSignal, onProgress: OnProgress): Promise<void> {
    const { path, clock, timers, random, log, lateCommit } = this.#options
    const { timeMs, warnings } = await this.#host.open(
      { path, newEpoch: random.uuid(), ...(lateCommit !== undefined && { lateCommit }) },
      (bytes) => this.#noteCheck(bytes, onProgress),
    )
    signal.throwIfAborted()
    for (const warning of warnings) log?.warn(warning)
    this.#offsetMs = Math.max(clock.wallMs(), timeMs) - clock.monotonicMs()
    this.events.restart(random.uuid().replaceAll('-', ''))
    this.#setHealth(true, path)
    await this.#watchDisk()
    this.#cancelTick = timers.every(TICK_MS, () => this.#tick())
  }

  #noteCheck(bytes: number, onProgress: OnProgress): void {
    this.#options.log?.info('checking the structure of the store after an unclean stop', {
      path: this.#options.path,
      bytes,
    })
    onProgress(`checking the structure of the store after an unclean stop (${Math.ceil(bytes / 1_048_576)} MiB)`)
  }

  async #stop(): Promise<void> {
    this.#cancelTick()
    await this.#committer.drained()
    try {
      await this.#host.close(this.#nowMs())
    } finally {
      this.#state = 'closed'
      this.#setHealth(false, 'not open')
    }
  }

  async #send(call: StorageCall): Promise<unknown> {
    this.#gate()
    checkArguments(call)
    const rule = ruleOf(call)
    this.#requireSpace(rule)
    return this.#committer.call(this.#diskTight ? withoutOutcomes(call, rule) : call, rule.kind)
  }

  /** @throws {FleetError} STORAGE_FULL if the call makes the store grow and the disk is nearly full. */
  #requireSpace({ grows, spareable }: CallRule): void {
    if (grows && this.#diskLow)
      throw storageError(
        'STORAGE_FULL',
        'less than 64 MiB are free on the disk of the store; free some space',
        'not_sent',
      )
    if (spareable === true && this.#diskTight)
      throw storageError(
        'STORAGE_FULL',
        'less than 128 MiB are free on the disk of the store, and they are reserved for tasks; free some space',
        'not_sent',
      )
  }

  #gate(): void {
    if (this.#state !== 'open')
      throw storageError('STORAGE_NOT_OPEN', `the store ${this.#options.path} is not open`, 'not_sent')
  }

  #nowMs(): number {
    return Math.floor(this.#offsetMs + this.#options.clock.monotonicMs())
  }

  #tick(): void {
    this.#ticks += 1
    this.#committer.tick()
    if (this.#ticks % DISK_TICKS === 0) void this.#watchDisk()
    // Its outcome shows whether the store works again.
    if (!this.#health.ok) void this.meta.info().catch(() => undefined)
    this.#quietTicks += 1
    const idle = this.#quietTicks > 1 && !this.#committer.busy
    if (this.#untidy && (idle || this.#ticks % BUSY_TICKS === 0)) void this.#tidy(idle)
  }

  /** Background work, one step at a time, so that a call waits for one step at most. */
  async #tidy(idle: boolean): Promise<void> {
    this.#untidy = false
    try {
      const more = await this.#host.maintain(this.#nowMs(), idle)
      if (more && this.#state === 'open') await this.#tidy(idle)
    } catch (error) {
      this.#options.log?.warn('background work of the store failed', { error })
    }
  }

  #noteOutcome(failure: FleetError | null, kind: CallRule['kind']): void {
    if (failure === null && !this.#health.ok) this.#setHealth(true, this.#options.path)
    if (failure !== null && this.#health.ok) {
      this.#setHealth(false, failure.message)
      this.#options.log?.error('the store failed', { code: failure.code, detail: failure.message })
    }
    if (kind === 'read') return
    this.#untidy = true
    this.#quietTicks = 0
  }

  #setHealth(ok: boolean, detail: string): void {
    if (this.#health.ok === ok && this.#health.detail === detail) return
    this.#health = { ok, profile: 'durable', sinceMs: this.#options.clock.wallMs(), detail }
  }

  async #watchDisk(): Promise<void> {
    const { freeBytes, path, log } = this.#options
    try {
      const free = freeBytes === undefined ? await freeBytesOf(dirname(path)) : await freeBytes()
      const low = free < MIN_FREE_BYTES
      if (low && !this.#diskLow)
        log?.warn(
          'the disk of the store is nearly full: calls that make the store grow are rejected until space is freed',
          {
            path,
            freeBytes: free,
          },
        )
      this.#diskLow = low
      this.#diskTight = free < MIN_FREE_BESIDE_TASKS
    } catch (error) {
      log?.warn('the free space of the store cannot be read', { path, error })
    }
  }
}

async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}
