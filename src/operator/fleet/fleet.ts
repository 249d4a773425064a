/**
 * @module operator/fleet/fleet
 * Connects the components that read from and write to the master:
 *
 *   event feed ──┐
 *   lists ───────┼─▶ records, by type ──a relevant difference──▶ keys are enqueued
 *   reads, writes ┘        ▲
 *                          └── every response: its epoch (epoch-tracker.ts), its time
 */
import type { MasterClient, MasterError } from '../../client/index.ts'
import { Signal, type Clock, type CreateHttpPool, type Log, type Random, type Timers } from '../../runtime/index.ts'
import { interned } from '../interned.ts'
import { Breaker, type OpenReason } from './breaker.ts'
import { BulkWriter } from './bulk-writer.ts'
import { Calls } from './calls.ts'
import { FeedReader } from './feed-reader.ts'
import { Identity } from './identity.ts'
import { Limiter } from './limiter.ts'
import { createMasterClient } from './master-client.ts'
import { MasterClock } from './master-clock.ts'
import type { FleetMetrics } from './metrics.ts'
import { isServing } from './probe.ts'
import type {
  CatalogType,
  FleetTable,
  MasterWriter,
  Registered,
  Remembered,
  Seen,
  ReportWriter,
  RevisionWriter,
  RuleWriter,
  TableChange,
  TypeReach,
  TypeReading,
  WorkerRecord,
  WorkerRow,
  WorkerRows,
} from './ports.ts'
import { Sequence, type Source } from './records.ts'
import { EnrolmentWriter, RolloutReportWriter } from './rule-writer.ts'
import { EpochTracker } from './epoch-tracker.ts'
import { Tokens } from './tokens.ts'
import { TypeReader } from './type-reader.ts'
import { Writer, type WriterDeps } from './writer.ts'

export interface FleetDeps {
  readonly masterUrl: string
  /** Read for every request, because the file it comes from may be rotated. */
  readonly token: () => string
  /** Creates the connections; by default those of undici. */
  readonly createPool?: CreateHttpPool
  readonly clock: Clock
  readonly timers: Timers
  readonly random: Random
  readonly log: Log
  readonly metrics: FleetMetrics
  /** Checked before every write. */
  readonly mayWrite: () => boolean
  /** The earliest time at which another replica may write, by the monotonic clock. Default: there is no other. */
  readonly leadsUntilMs?: () => number
  /** Parks the keys for a reason; `null` releases them. */
  readonly onBreaker: (reason: OpenReason | null) => void
}

export class Fleet implements FleetTable, WorkerRows {
  readonly master: MasterWriter
  readonly edits: MasterWriter
  readonly revisions: RevisionWriter
  readonly rules: RuleWriter
  readonly reports: ReportWriter
  readonly #deps: FleetDeps
  readonly #tokens: Tokens
  readonly #client: MasterClient
  readonly #sequence = new Sequence()
  readonly #masterClock: MasterClock
  readonly #readers = new Map<string, { readonly reader: TypeReader; readonly end: AbortController }>()
  readonly #listeners = new Set<(change: TableChange) => void>()
  readonly #life: EpochTracker
  readonly #breaker: Breaker
  readonly #calls: Calls
  readonly #identity: Identity
  readonly #feed: FeedReader
  readonly #end = new AbortController()
  readonly #broken = new AbortController()
  /** The feed is open, or cannot be opened for now: lists may begin. */
  #mayList = false
  #hadFeed = false

  /** @throws {TypeError} if the URL of the master cannot be used. */
  constructor(deps: FleetDeps) {
    this.#deps = deps
    this.#tokens = new Tokens(deps.token)
    this.#masterClock = new MasterClock(deps.clock)
    this.#client = createMasterClient(deps, this.#tokens, this.#masterClock)
    this.#breaker = this.#createBreaker()
    this.#calls = this.#createCalls()
    this.#identity = this.#createIdentity()
    this.#life = new EpochTracker({
      clock: deps.clock,
      onEpoch: () => this.#each((reader) => reader.restart()),
      onReset: (message) => this.#reset(message),
    })
    this.#feed = this.#createFeed()
    const writing = this.#writerDeps()
    this.master = new Writer(writing, 'reconcile')
    this.edits = new Writer(writing, 'edit')
    this.revisions = new BulkWriter(writing)
    this.rules = new EnrolmentWriter(writing)
    this.reports = new RolloutReportWriter(writing)
  }

  get(type: string, workerId: string): Seen {
    const reader = this.#readers.get(type)?.reader
    if (reader === undefined) return { kind: 'pending' }
    if (reader.reach === 'unknown_type' || reader.reach === 'forbidden') return { kind: reader.reach }
    const entry = reader.records.get(workerId)
    if (entry === undefined || entry.isAbsent) return { kind: reader.reach === 'pending' ? 'pending' : 'unregistered' }
    if (entry.record === null) return { kind: 'pending' }
    return {
      kind: 'registered',
      record: entry.record,
      epoch: entry.epoch,
      isStale: entry.staleSince !== null || entry.isConfigUnread,
      readMs: entry.readMs,
    }
  }

  isRegistered(type: string, workerId: string): boolean {
    return this.#readers.get(type)?.reader.records.has(workerId) === true
  }

  catalog(type: string): CatalogType | undefined {
    return this.#readers.get(type)?.reader.catalog
  }

  workers(type: string): Iterable<Omit<WorkerRecord, 'config'>> {
    return this.#readers.get(type)?.reader.records.all() ?? []
  }

  rows(type: string): Iterable<WorkerRow> {
    return this.#readers.get(type)?.reader.records.rows() ?? []
  }

  reach(type: string): TypeReach {
    return this.#readers.get(type)?.reader.reach ?? 'pending'
  }

  /** @returns every type that the master has and the token covers; `undefined` if the master is unavailable. */
  async offered(signal: AbortSignal): Promise<readonly string[] | undefined> {
    const { types } = this.#identity
    if (types?.has('*') !== true) return types && [...types]
    const response = await this.#calls.call(
      { method: 'GET', line: 'table', send: (either) => this.#client.automations({ signal: either }) },
      signal,
    )
    if (response.kind === 'forbidden') return [] // The token covers all types, but may not list them.
    return response.kind === 'ok' ? response.reply.body.map(({ type }) => type) : undefined
  }

  setTypes(types: ReadonlyMap<string, TypeReading>): void {
    for (const [type, { end, reader }] of this.#readers) {
      const reading = types.get(type)
      if (reading !== undefined) {
        reader.setReading(reading)
        continue
      }
      end.abort()
      this.#readers.delete(type)
    }
    for (const [type, reading] of types) if (!this.#readers.has(type)) this.#add(type, reading)
  }

  onChange(listener: (change: TableChange) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  async run(signal: AbortSignal): Promise<void> {
    const { signal: ended } = this.#end
    this.#watch(this.#breaker.run(ended))
    this.#watch(this.#feed.run(ended))
    try {
      await new Signal(this.#deps.timers).wait(AbortSignal.any([signal, this.#broken.signal]))
      this.#broken.signal.throwIfAborted()
    } finally {
      this.#end.abort()
      await this.#client.close()
    }
  }

  get isSynced(): boolean {
    return [...this.#readers.values()].every(({ reader }) => reader.reach !== 'pending')
  }

  get unavailableMs(): number {
    return this.#breaker.unavailableMs
  }

  masterNowMs(): number {
    return this.#masterClock.nowMs()
  }

  hasForgotten(worker: Registered, remembered: Remembered): boolean {
    return this.#life.hasForgotten(worker, remembered)
  }

  #createBreaker(): Breaker {
    const { clock, timers, random } = this.#deps
    return new Breaker({
      clock,
      timers,
      random,
      probe: (why) => this.#probe(why).catch(() => false),
      onTurn: (reason) => this.#turned(reason),
    })
  }

  #createCalls(): Calls {
    const { clock, timers, random, log, metrics, mayWrite } = this.#deps
    return new Calls({
      clock,
      random,
      log,
      breaker: this.#breaker,
      limiter: new Limiter(clock, timers),
      metrics,
      mayWrite,
      isTypeKnown: (type) => this.catalog(type) !== undefined,
      token: () => this.#tokens.current(),
      onForbidden: (sent, signal) => this.#identity.onForbidden(sent, signal),
    })
  }

  #createIdentity(): Identity {
    return new Identity({
      clock: this.#deps.clock,
      tokens: this.#tokens,
      client: this.#client,
      breaker: this.#breaker,
      once: (call, signal) => this.#calls.once(call, signal),
      onRights: () => this.#recheck(),
    })
  }

  #createFeed(): FeedReader {
    return new FeedReader({
      events: (signal) => this.#client.events({ signal, isBatched: true }),
      onOpen: (epoch) => this.#opened(epoch),
      onLost: (error) => this.#lost(error),
      onGap: () => this.#gap(),
      onEvent: (name, type, workerId, fields) => this.#readers.get(type)?.reader.records.event(name, workerId, fields),
    })
  }

  #writerDeps(): WriterDeps {
    return {
      client: this.#client,
      sequence: this.#sequence,
      call: (call, signal) => this.#calls.call(call, signal),
      readerOf: (type) => this.#readers.get(type)?.reader,
      covers: (type) => this.#identity.covers(type),
      sourceOf: (reply, begun) => this.#sourceOf(reply, begun),
      nowMs: () => this.masterNowMs(),
    }
  }

  #add(type: string, reading: TypeReading): void {
    const { clock, timers, log } = this.#deps
    const tell = (change: TableChange): void =>
      this.#readers.get(type)?.reader === reader ? this.#tell(change) : undefined
    const reader: TypeReader = new TypeReader({
      type,
      reading,
      client: this.#client,
      clock,
      timers,
      log,
      sequence: this.#sequence,
      call: (call, signal) => this.#calls.call(call, signal),
      sourceOf: (reply, begun) => this.#sourceOf(reply, begun),
      covers: () => this.#identity.covers(type),
      readRights: (signal) => this.#identity.readRights(signal),
      hasFeed: () => this.#feed.isLive,
      onWorker: (workerId) => tell({ kind: 'worker', type, workerId }),
      onType: () => tell({ kind: 'type', type }),
      onListed: () => tell({ kind: 'listed', type }),
      onFall: () => this.#life.regressed(),
    })
    const each = { reader, end: new AbortController() }
    this.#readers.set(type, each)
    this.#start(each)
  }

  #start({ reader, end }: { readonly reader: TypeReader; readonly end: AbortController }): void {
    if (this.#mayList) this.#watch(reader.run(AbortSignal.any([this.#end.signal, end.signal])))
  }

  /** A loop that rejects has a programming error. It ends `run`. */
  #watch(loop: Promise<void>): void {
    loop.catch((error: unknown) => this.#broken.abort(error))
  }

  #list(): void {
    if (this.#mayList) return
    this.#mayList = true
    for (const each of this.#readers.values()) this.#start(each)
  }

  #sourceOf(
    { epoch, respondedAtMs }: { readonly epoch: string; readonly respondedAtMs: number | undefined },
    begun: number,
  ): Source | null {
    this.#masterClock.observe(respondedAtMs)
    return this.#life.observe(epoch, begun, this.#sequence.next())
      ? { begun, epoch: interned(epoch), atMs: this.masterNowMs() }
      : null
  }

  async #probe(why: OpenReason): Promise<boolean> {
    const { signal } = this.#end
    if (why === 'Unauthorized') return this.#identity.recovered(signal).catch(() => false) // Aborted.
    return isServing(this.#calls, this.#client, signal)
  }

  #turned(reason: OpenReason | null): void {
    const { log, metrics, onBreaker } = this.#deps
    if (reason === null) log.info('the master is reachable again')
    else
      log.error(
        reason === 'Unauthorized'
          ? 'the master rejects the token; write a valid token into its file'
          : 'the master is unavailable; calls are paused until it is back',
        { reason },
      )
    metrics.onBreaker(reason)
    onBreaker(reason)
    if (reason === null) this.#each((reader) => reader.wake())
  }

  #opened(epoch: string): void {
    this.#breaker.close()
    this.#life.observe(epoch, this.#sequence.next(), this.#sequence.next())
    void this.#readRights()
    this.#recheck()
    this.#list()
  }

  #lost(error: MasterError): void {
    this.#deps.log.warn('the event stream of the master ended, retrying', { error: error.message })
    this.#list()
    this.#each((reader) => reader.wake())
    if (error.code === 'FORBIDDEN') void this.#recheckToken()
  }

  async #readRights(): Promise<void> {
    await this.#identity.readRights(this.#end.signal).catch(() => {}) // Rejects only when the fleet ends.
  }

  async #recheckToken(): Promise<void> {
    await this.#identity
      .onForbidden({ sentMs: this.#deps.clock.monotonicMs(), token: this.#tokens.current() }, this.#end.signal)
      .catch(() => {}) // Rejects only when the fleet ends.
  }

  #gap(): void {
    if (this.#hadFeed) this.#deps.metrics.onFeedReset()
    this.#hadFeed = true
    this.#each((reader) => reader.hurry())
  }

  #recheck(): void {
    this.#each((reader) => reader.recheck())
  }

  #reset(message: string): void {
    this.#deps.log.warn('the master lost state; all configs are compared again', { reason: message })
    this.#deps.metrics.onStateReset()
    this.#tell({ kind: 'state_reset', message })
  }

  #each(act: (reader: TypeReader) => void): void {
    for (const { reader } of this.#readers.values()) act(reader)
  }

  #tell(change: TableChange): void {
    for (const listener of this.#listeners) listener(change)
  }
}
