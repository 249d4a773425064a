/**
 * @module operator/fleet/type-reader
 * Keeps the table of one type current. One loop reads what is due, in this order:
 *
 *   rights ─▶ catalog entry ─▶ a list of all workers, in pages
 *
 * The first list, and one after missed events, runs as fast as the limiter permits. Others are spread over the time
 * until the next: 60 s while the event feed is open, else 10 s. A second loop reads stale entries one by one, or
 * requests a fast list when there are many.
 */
import { createHash } from 'node:crypto'
import type { MasterClient } from '../../client/index.ts'
import { secretPathsOf, type WorkerBody } from '../../protocol/index.ts'
import { Signal, sleep, type Clock, type Log, type Timers } from '../../runtime/index.ts'
import type { ReplyResult, MasterCall } from './calls.ts'
import type { Line } from './limiter.ts'
import type { CatalogType, CallRefusal, TypeReach, TypeReading } from './ports.ts'
import { Records, type RecordsDeps, type Sequence, type Source } from './records.ts'

/** A page is parsed without a break, and several types may be read simultaneously, so the numbers are small. */
const PAGE_ROWS: Readonly<Record<TypeReading, number>> = { configs: 250, labels: 500 }
const LIST_MS = { withFeed: 60_000, without: 10_000 } as const
/** Between the starts of two fast lists. A fast list is also followed by a pause as long as itself. */
const FAST_GAP_MS = 1_000
/** Within this time the response to a PATCH usually arrives after its event, and no read is needed. */
const STALE_WAIT_MS = 50
/** Above this number and this share of the type, pages cost less than single reads. */
const MAX_SINGLE_READS = { least: 50, share: 0.1 } as const
const RETRY_MS = 1_000
/** An unknown or forbidden type is requested again after this time, or after a related change. */
const OUT_OF_REACH_MS = { unknown_type: 30 * 60_000, forbidden: 5 * 60_000 } as const

export interface TypeReaderDeps {
  readonly type: string
  readonly reading: TypeReading
  readonly client: MasterClient
  readonly clock: Clock
  readonly timers: Timers
  readonly log: Log
  readonly sequence: Sequence
  readonly call: <T>(call: MasterCall<T>, signal: AbortSignal) => Promise<ReplyResult<T>>
  /** The source of a response that was requested as `begun`. `null`: an earlier epoch. */
  readonly sourceOf: (
    reply: { readonly epoch: string; readonly respondedAtMs: number | undefined },
    begun: number,
  ) => Source | null
  readonly covers: () => boolean | undefined
  readonly readRights: (signal: AbortSignal) => Promise<unknown>
  readonly hasFeed: () => boolean
  readonly onWorker: (workerId: string) => void
  /** The schema changed, or the type became unavailable. */
  readonly onType: () => void
  /** The first list is complete. */
  readonly onListed: () => void
  readonly onFall: RecordsDeps['onRegression']
}

type PageResult =
  | { readonly kind: 'page'; readonly rows: readonly WorkerBody[]; readonly isLast: boolean }
  | { readonly kind: 'aborted' }
  | CallRefusal

export class TypeReader {
  readonly records: Records
  readonly #deps: TypeReaderDeps
  readonly #news: Signal
  readonly #stale: Signal
  #reading: TypeReading
  #reach: TypeReach = 'pending'
  #catalog: CatalogType | undefined
  #isCatalogDue = true
  /** A fast list is due. */
  #isHurried = true
  /** The running list began in an earlier epoch. */
  #isVoid = false
  #startedMs = -Infinity
  #notBeforeMs = -Infinity
  /** Pages of the last list. */
  #pages = 1
  /** When the pause after a fast list ends; it lasts as long as the list. */
  #restedMs = -Infinity

  constructor(deps: TypeReaderDeps) {
    this.#deps = deps
    this.#reading = deps.reading
    this.#news = new Signal(deps.timers)
    this.#stale = new Signal(deps.timers)
    this.records = new Records({
      sequence: deps.sequence,
      onChange: (workerId) => this.#changed(workerId),
      onStale: () => this.#stale.notify(),
      onRegression: deps.onFall,
    })
  }

  get reach(): TypeReach {
    return this.#reach
  }

  get catalog(): CatalogType | undefined {
    return this.#catalog
  }

  /** Reads all workers immediately if their configs are needed from now on. */
  setReading(reading: TypeReading): void {
    const isMore = this.#reading === 'labels' && reading === 'configs'
    this.#reading = reading
    if (isMore) this.hurry()
  }

  /** Wakes the loops, because something changed that decides what is read next. */
  wake(): void {
    this.#news.notify()
  }

  /** Reads the catalog entry again, because the rights or the schema may have changed. */
  recheck(): void {
    this.#isCatalogDue = true
    this.#notBeforeMs = -Infinity
    this.#news.notify()
  }

  /** Reads all workers immediately, because events were missed. */
  hurry(): void {
    this.#isHurried = true
    this.#news.notify()
  }

  /** Discards everything, because the store was replaced. */
  restart(): void {
    if (this.#reach === 'in_reach') this.#reach = 'pending'
    this.#isVoid = this.#isHurried = true
    this.records.clear()
    this.recheck()
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#readAll(signal), this.#readStale(signal)])
  }

  /** Reads one worker into the table. Reconciles use the response and need no notification. */
  async readOne(workerId: string, line: Line, signal: AbortSignal): Promise<ReplyResult<WorkerBody>> {
    const isKnown = line !== 'table'
    const { call, client, sequence, sourceOf, type } = this.#deps
    const begun = sequence.next()
    const response = await call(
      { method: 'GET', type, line, send: (either) => client.workers.get(type, workerId, { signal: either }) },
      signal,
    )
    if (response.kind === 'not_registered') this.records.onNotFound(workerId, begun, isKnown)
    const source = response.kind === 'ok' ? sourceOf(response.reply, begun) : null
    if (response.kind === 'ok' && source !== null)
      this.records.read(response.reply.body, source, isKnown ? 'all' : undefined)
    return response
  }

  async #readAll(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#round(signal).catch((error: unknown) => this.#failed(error, signal))
      await this.#news.wait(signal, this.#dueInMs())
    }
  }

  /** Reads what is due. */
  async #round(signal: AbortSignal): Promise<void> {
    const { readRights, covers } = this.#deps
    if (covers() === undefined || this.#reach === 'forbidden') await readRights(signal)
    if (covers() !== true) return covers() === false ? this.#outOfReach('forbidden') : this.#waitMs(RETRY_MS)
    if (this.#isCatalogDue || this.#reach === 'unknown_type') {
      const refusal = await this.#readCatalog(signal)
      if (refusal !== null) return this.#refused(refusal)
    }
    if (this.#passDueInMs() > 0) return
    const refusal = await this.#listAll(signal)
    if (refusal !== null) this.#refused(refusal)
  }

  #dueInMs(): number {
    const dueInMs = this.#isCatalogDue ? 0 : this.#passDueInMs()
    return Math.max(dueInMs, this.#notBeforeMs - this.#nowMs())
  }

  #passDueInMs(): number {
    const dueMs = this.#isHurried
      ? Math.max(this.#startedMs + FAST_GAP_MS, this.#restedMs)
      : this.#startedMs + this.#listMs()
    return dueMs - this.#nowMs()
  }

  #listMs(): number {
    return this.#deps.hasFeed() ? LIST_MS.withFeed : LIST_MS.without
  }

  async #readCatalog(signal: AbortSignal): Promise<CallRefusal | null> {
    const { call, client, type, onType } = this.#deps
    this.#isCatalogDue = false
    const result = await call(
      { method: 'GET', type, send: (either) => client.catalogEntry(type, { signal: either }) },
      signal,
    )
    if (result.kind !== 'ok') {
      this.#isCatalogDue = true
      return result.kind === 'not_registered' ? { kind: 'unknown_type' } : result
    }
    const { config: schema, kind } = result.reply.body
    const hash = createHash('sha256').update(JSON.stringify(schema)).digest('base64url')
    if (this.#reach === 'unknown_type' || this.#reach === 'forbidden') this.#reach = 'pending'
    if (hash === this.#catalog?.hash) return null
    const isOther = this.#catalog !== undefined
    this.#catalog = { kind, schema, secrets: secretPathsOf(schema), hash }
    if (isOther) onType()
    return null
  }

  /** Lists all workers once. @returns `null` if the list is complete, or must start again. */
  async #listAll(signal: AbortSignal): Promise<CallRefusal | null> {
    const isFast = this.#isHurried
    const begun = this.#deps.sequence.next()
    const seen = new Set<string>()
    this.#startedMs = this.#nowMs()
    this.#isHurried = this.#isVoid = false
    let after: string | undefined
    for (let page = 1; ; page += 1) {
      const replied = await this.#page(after, signal)
      if (replied.kind === 'aborted' || this.#isVoid) return null
      if (replied.kind !== 'page') return replied
      for (const { worker_id: id } of replied.rows) seen.add((after = id))
      if (replied.isLast) return this.#passed(seen, begun, { pages: page, isFast })
      if (!isFast && !(await this.#paced(page, signal))) return null
    }
  }

  #passed(
    seen: ReadonlySet<string>,
    begun: number,
    { pages, isFast }: { readonly pages: number; readonly isFast: boolean },
  ): null {
    this.records.listCompleted(seen, begun)
    this.#pages = pages
    if (isFast) this.#restedMs = 2 * this.#nowMs() - this.#startedMs
    this.#turn('in_reach')
    return null
  }

  /** Requests a page until it arrives, or is refused. */
  async #page(after: string | undefined, signal: AbortSignal): Promise<PageResult> {
    const { call, client, sequence, sourceOf, type } = this.#deps
    while (!signal.aborted) {
      const begun = sequence.next()
      const reading = this.#reading
      const query = { limit: PAGE_ROWS[reading], after, view: reading === 'labels' ? ('summary' as const) : undefined }
      const replied = await call(
        { method: 'GET', type, line: 'table', send: (either) => client.workers.page(type, query, { signal: either }) },
        signal,
      )
      if (replied.kind === 'ok') {
        const { body: rows } = replied.reply
        const source = sourceOf(replied.reply, begun)
        if (source !== null) this.#apply(rows, source, reading)
        return { kind: 'page', rows, isLast: rows.length < query.limit }
      }
      if (replied.kind !== 'unavailable' && replied.kind !== 'throttled') return replied
      await this.#deps.timers.sleep(
        replied.kind === 'throttled' ? Math.max(replied.retryAfterMs, RETRY_MS) : RETRY_MS,
        signal,
      )
    }
    return { kind: 'aborted' }
  }

  #apply(rows: readonly WorkerBody[], source: Source, reading: TypeReading): void {
    for (const row of rows) {
      if (reading === 'labels') this.records.readSummary(row, source)
      else this.records.read(row, source)
    }
  }

  /** Waits until the page after `page` is due. @returns false if a fast list is due instead. */
  async #paced(page: number, signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted && !this.#isHurried) {
      const waitMs = this.#startedMs + this.#listMs() * Math.min(page / this.#pages, 1) - this.#nowMs()
      if (waitMs <= 0) return true
      await this.#news.wait(signal, waitMs)
    }
    return false
  }

  async #readStale(signal: AbortSignal): Promise<void> {
    let waitMs = Infinity
    while (!signal.aborted) {
      await this.#stale.wait(signal, waitMs)
      await sleep(this.#deps.timers, STALE_WAIT_MS, signal)
      if (this.#reach === 'in_reach')
        await this.#readEach(this.records.stale(), signal).catch((error: unknown) => this.#failed(error, signal))
      waitMs = this.records.stale().length > 0 ? RETRY_MS : Infinity
    }
  }

  async #readEach(ids: readonly string[], signal: AbortSignal): Promise<void> {
    if (ids.length > Math.max(MAX_SINGLE_READS.least, this.records.size * MAX_SINGLE_READS.share)) this.hurry()
    else await Promise.all(ids.map((id) => this.readOne(id, 'table', signal)))
  }

  #changed(workerId: string): void {
    if (this.#reach === 'in_reach' || this.#reach === 'pending') this.#deps.onWorker(workerId)
  }

  #refused(refusal: CallRefusal): void {
    if (refusal.kind === 'forbidden') return this.#outOfReach('forbidden')
    if (refusal.kind === 'unknown_type' || refusal.kind === 'not_registered') return this.#outOfReach('unknown_type')
    if (refusal.kind === 'bug' || refusal.kind === 'rejected')
      this.#deps.log.error('the master rejected a read of the operator', {
        type: this.#deps.type,
        error: refusal.message,
      })
    this.#waitMs(refusal.kind === 'throttled' ? Math.max(refusal.retryAfterMs, RETRY_MS) : RETRY_MS)
  }

  #outOfReach(reach: 'unknown_type' | 'forbidden'): void {
    this.#isHurried = true
    this.#catalog = undefined
    this.records.clear()
    this.#waitMs(OUT_OF_REACH_MS[reach])
    this.#turn(reach)
  }

  #turn(reach: TypeReach): void {
    if (reach === this.#reach) return
    this.#reach = reach
    if (reach === 'in_reach') this.#deps.onListed()
    else this.#deps.onType()
  }

  #failed(error: unknown, signal: AbortSignal): void {
    if (signal.aborted) return
    this.#deps.log.error('reading the workers of a type failed, retrying', { type: this.#deps.type, error })
    this.#isHurried = true
    this.#waitMs(RETRY_MS)
  }

  #waitMs(ms: number): void {
    this.#notBeforeMs = this.#nowMs() + ms
  }

  #nowMs(): number {
    return this.#deps.clock.monotonicMs()
  }
}
