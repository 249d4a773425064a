/**
 * @module operator/kube/status-writer
 * Writes statuses by server-side apply, as rarely as possible. It always sends the whole status that the operator owns,
 * so that omitted fields disappear, and only if it differs from the cache. Each object has one entry: the latest status
 * wins.
 *
 * Every write carries the resource version that the cache shows for the uid. So a status never reaches another object
 * of the same name: for `/status` of a custom resource kube-apiserver checks the version, but not the uid.
 *
 *   put, after an edit   due immediately, or in 500 ms if the API server is busy ──┐
 *   put, transition      due in 500 ms, to combine ────────────────────────────────┼─▶ in flight
 *   put, heartbeat       due at the object's offset in a period, at most 10/s ─────┘
 *
 *   in flight ──▶ success: the response updates the cache
 *             ├─▶ 404, 400, 422: dropped
 *             └─▶ 409 and all else: backoff, due again
 *
 * A user may wait for the first status after an edit, and for those of the next 10 s: they are sent before the others
 * and have a reserve in flight. How many are in flight adapts to the API server (`ConcurrencyLimit`). A heartbeat (last
 * seen, usage: what changes all the time) is sent together with a transition at no cost. One writer serves one term of
 * leadership: its signal ends with the term, and with it every write.
 */
import { isDeepStrictEqual } from 'node:util'
import { Backoff, ConcurrencyLimit, Heap, retryAfterDelayMs, Signal, TokenBucket } from '../../runtime/index.ts'
import type { Clock, FlightEnd, Log, Random, Timers } from '../../runtime/index.ts'
import { applyStatus, flightEndOf } from './apply-status.ts'
import { isBehind } from './edits.ts'
import { heartbeatPeriodMs, nextHeartbeatMs } from './heartbeat-schedule.ts'
import { KubeError, requestedWait } from './kube-error.ts'
import { keyOf, type KubeObject, type ObjectKey, type ObjectRef, type Resource } from './objects.ts'
import { sharing } from './sharing.ts'
import type { KubeTransport } from './transport.ts'
import { WrittenStatuses } from './written-statuses.ts'

const COMPANY_MS = 500
/** Statuses of an object within this time of a status that followed an edit are those of the edit. */
const AWAITED_MS = 10_000
/** The reserve is for statuses of edits. */
const IN_FLIGHT = { initial: 4, most: 128, reserve: 12 } as const
const HEARTBEATS = { capacity: 1, perSecond: 10 }
const RETRY_BASE_MS = 1_000
const RETRY_CAP_MS = 30_000

export type StatusKind = 'transition' | 'heartbeat'
/** In the order of service. */
const LANES = ['edit', 'transition', 'heartbeat'] as const
type Lane = (typeof LANES)[number]

export interface StatusWriter<S> {
  put(target: ObjectRef, status: S, kind: StatusKind): void
  /** The status that is pending or was written last: newer than the cache, and without edits of other clients. */
  last(target: ObjectRef): S | undefined
  /** Sends the pending status of this object now. @returns false if that failed; it is retried. */
  flushNow(target: ObjectRef, signal: AbortSignal): Promise<boolean>
  /** Sends every transition now. Resolves when all have a response, or the signal aborts. */
  flush(signal: AbortSignal): Promise<void>
}

export interface StatusWriterDeps<T extends KubeObject, S> {
  readonly transport: KubeTransport
  readonly clock: Clock
  readonly timers: Timers
  readonly random: Random
  readonly log: Log
  readonly resource: Resource
  readonly fieldManager: string
  /** Aborts at the end of the term. */
  readonly signal: AbortSignal
  readonly cache: { readonly size: number; get(key: ObjectKey): T | undefined; applyResponse(written: T): void }
  /** Checked before every write. */
  readonly mayWrite: () => boolean
  /** The status without fields that change all the time. A transition that differs in nothing else is a heartbeat. */
  readonly meaningOf: (status: S) => unknown
  readonly onWrite?: (kind: StatusKind) => void
  /** A write that was sent at `sentMs`, by the monotonic clock, has changed the object. */
  readonly onChanged?: (written: T, sentMs: number) => void
}

interface StatusEntry<S> {
  target: ObjectRef
  status: S
  lane: Lane
  dueMs: number
  isSending: boolean
  failures: number
  readonly backoff: Backoff
}

export class ApplyStatusWriter<T extends KubeObject, S> implements StatusWriter<S> {
  readonly #deps: StatusWriterDeps<T, S>
  readonly #entries = new Map<ObjectKey, StatusEntry<S>>()
  readonly #due: Readonly<Record<Lane, Heap<ObjectKey>>> = {
    edit: new Heap(),
    transition: new Heap(),
    heartbeat: new Heap(),
  }
  readonly #heartbeats: TokenBucket
  readonly #concurrency: ConcurrencyLimit
  readonly #written: WrittenStatuses<T, S>
  readonly #startedMs: number
  #isFlushing = false
  #cancelTimer: () => void = () => {}
  /** After every change of the entries. */
  readonly #changed: Signal

  constructor(deps: StatusWriterDeps<T, S>) {
    this.#deps = deps
    this.#startedMs = deps.clock.monotonicMs()
    this.#written = new WrittenStatuses(deps.cache)
    this.#changed = new Signal(deps.timers)
    this.#heartbeats = new TokenBucket(deps.clock, HEARTBEATS)
    this.#concurrency = new ConcurrencyLimit(deps.clock, IN_FLIGHT)
    deps.signal.addEventListener('abort', () => this.#end(), { once: true })
  }

  put(target: ObjectRef, status: S, kind: StatusKind): void {
    if (this.#deps.signal.aborted) return
    const key = keyOf(target)
    const known = this.#entries.get(key)
    const entry = known?.target.uid === target.uid ? known : undefined
    const real = this.#kindOf(target, status, kind, entry)
    if (real === undefined) {
      if (entry?.isSending === false) this.#entries.delete(key) // Equal to the written status again.
      return
    }
    const lane = this.#laneOf(key, real)
    const becomesUrgent = entry === undefined || LANES.indexOf(lane) < LANES.indexOf(entry.lane)
    const next: StatusEntry<S> = entry ?? {
      target,
      status,
      lane,
      dueMs: 0,
      isSending: false,
      failures: 0,
      backoff: this.#newBackoff(),
    }
    next.status = status
    if (becomesUrgent) {
      next.lane = lane
      next.dueMs = lane === 'heartbeat' ? this.#heartbeatAtMs(key, target.uid) : this.#transitionAtMs(lane)
    }
    this.#entries.set(key, next)
    if (becomesUrgent && !next.isSending) this.#enqueue(key, next)
  }

  /** Whether a write of this status is in flight, so that a watch event with it is no news. */
  isSending(object: KubeObject): boolean {
    const entry = this.#entries.get(keyOf(object.metadata))
    return (
      entry?.isSending === true &&
      entry.target.uid === object.metadata.uid &&
      isDeepStrictEqual(entry.status, object.status)
    )
  }

  /** Whether a new status of this object is pending and was not sent yet. */
  isDue({ metadata }: KubeObject): boolean {
    const entry = this.#entries.get(keyOf(metadata))
    return entry !== undefined && !entry.isSending && entry.lane !== 'heartbeat' && entry.target.uid === metadata.uid
  }

  last(target: ObjectRef): S | undefined {
    const entry = this.#entries.get(keyOf(target))
    if (entry?.target.uid === target.uid) return entry.status
    const written = this.#written.get(keyOf(target))
    return written?.uid === target.uid ? written.sent : undefined
  }

  /**
   * Drops pending statuses, because every resource is compared again. Statuses of edits stay, as a user may wait for
   * them.
   */
  dropWaiting(): void {
    for (const [key, { isSending, lane }] of this.#entries) if (!isSending && lane !== 'edit') this.#entries.delete(key)
  }

  async flushNow(target: ObjectRef, signal: AbortSignal): Promise<boolean> {
    const key = keyOf(target)
    const entry = this.#entries.get(key)
    if (entry === undefined) return true // Already written.
    const { failures } = entry
    entry.lane = 'edit'
    if (!entry.isSending) this.#enqueue(key, entry, this.#deps.clock.monotonicMs())
    const isUnderWay = (): boolean => this.#entries.get(key) === entry && entry.failures === failures
    while (isUnderWay() && !signal.aborted) await this.#changed.wait(signal)
    return this.#entries.get(key) !== entry
  }

  async flush(signal: AbortSignal): Promise<void> {
    this.#isFlushing = true
    const nowMs = this.#deps.clock.monotonicMs()
    for (const [key, entry] of this.#entries) {
      if (entry.lane === 'heartbeat' && !entry.isSending) this.#entries.delete(key)
      else if (!entry.isSending) this.#enqueue(key, entry, nowMs)
    }
    while (this.#entries.size > 0 && !signal.aborted && !this.#deps.signal.aborted) await this.#changed.wait(signal)
    this.#isFlushing = false
  }

  /**
   * @returns the kind of write that this status needs, compared with the cache and the pending status; `undefined` if
   * none.
   */
  #kindOf(target: ObjectRef, status: S, kind: StatusKind, entry: StatusEntry<S> | undefined): StatusKind | undefined {
    if (entry?.isSending === true) return isDeepStrictEqual(entry.status, status) ? kindOf(entry.lane) : kind
    const current = this.#deps.cache.get(keyOf(target))
    // Not cached yet, or no longer: decided when the write is due.
    if (current?.metadata.uid !== target.uid) return kind
    if (this.#written.shows(current, status)) return undefined
    if (this.#written.isChangedByOthers(current)) return 'transition'
    if (kind === 'heartbeat') return kindOf(entry?.lane ?? 'heartbeat')
    const { meaningOf } = this.#deps
    return isDeepStrictEqual(meaningOf((current.status ?? {}) as S), meaningOf(status)) ? 'heartbeat' : 'transition'
  }

  #laneOf(key: ObjectKey, kind: StatusKind): Lane {
    if (kind === 'heartbeat') return kind
    const { cache, clock } = this.#deps
    const current = cache.get(key)
    const isEdited = current !== undefined && isBehind(current)
    return isEdited || clock.monotonicMs() < (this.#written.get(key)?.awaitedUntilMs ?? 0) ? 'edit' : kind
  }

  /** While as many writes are in flight as the API server takes, combining serves the statuses of edits better, too. */
  #transitionAtMs(lane: Lane): number {
    const isNow = this.#isFlushing || (lane === 'edit' && this.#concurrency.hasRoom())
    return this.#deps.clock.monotonicMs() + (isNow ? 0 : COMPANY_MS)
  }

  #heartbeatAtMs(key: ObjectKey, uid: string): number {
    const periodMs = heartbeatPeriodMs(this.#deps.cache.size, HEARTBEATS.perSecond)
    return nextHeartbeatMs({ uid, periodMs, startedMs: this.#startedMs, writtenMs: this.#written.get(key)?.atMs ?? 0 })
  }

  #enqueue(key: ObjectKey, entry: StatusEntry<S>, dueMs = entry.dueMs): void {
    entry.dueMs = dueMs
    this.#due[entry.lane].add(dueMs, key)
    this.#pump()
  }

  /** Sends what is due within the rates, and sets the timer for the rest. */
  #pump(): void {
    this.#cancelTimer()
    if (this.#deps.signal.aborted) return
    const waits = LANES.flatMap((lane) => this.#sendDue(lane))
    if (waits.length > 0)
      this.#cancelTimer = this.#deps.timers.after(Math.max(1, Math.min(...waits)), () => this.#pump())
  }

  /** @returns how long until the next write of this lane is due; empty if that needs no timer. */
  #sendDue(lane: Lane): readonly number[] {
    const heap = this.#due[lane]
    for (let top = heap.peek(); top !== undefined; top = heap.peek()) {
      const entry = this.#entries.get(top.value)
      if (entry === undefined || entry.isSending || entry.lane !== lane || entry.dueMs !== top.rank) {
        heap.pop()
        continue
      }
      // The next response calls this again.
      if (!this.#concurrency.hasRoom(lane === 'edit')) return []
      const waitMs = top.rank - this.#deps.clock.monotonicMs()
      if (waitMs > 0) return [waitMs]
      if (lane === 'heartbeat' && !this.#heartbeats.take()) return [this.#heartbeats.waitMs()]
      heap.pop()
      void this.#send(top.value, entry)
    }
    return []
  }

  async #send(key: ObjectKey, entry: StatusEntry<S>): Promise<void> {
    const { cache, mayWrite } = this.#deps
    const current = cache.get(key)
    // Otherwise the object was deleted, or another one has its name.
    const isMeant = current?.metadata.uid === entry.target.uid
    if (!isMeant || this.#written.shows(current, entry.status)) {
      this.#forget(key, entry)
      return
    }
    if (!mayWrite()) {
      // Leadership is paused for a moment, or the term is about to end and everything with it.
      this.#again(key, entry, 0)
      return
    }
    entry.isSending = true
    const flight = this.#concurrency.begin()
    let end: FlightEnd = 'unmeasured'
    try {
      await this.#write(key, entry, current)
      end = 'ok'
    } catch (error) {
      end = flightEndOf(error)
      this.#failed(key, entry, error)
    } finally {
      this.#concurrency.end(flight, end)
      this.#pump()
    }
  }

  async #write(key: ObjectKey, entry: StatusEntry<S>, current: T): Promise<void> {
    const { cache, clock, onChanged, onWrite } = this.#deps
    const { lane, status, target } = entry
    const { resourceVersion } = current.metadata
    const sentMs = clock.monotonicMs()
    const awaitedUntilMs = isBehind(current)
      ? sentMs + AWAITED_MS
      : (this.#written.get(key)?.awaitedUntilMs ?? -Infinity)
    const body = await applyStatus<T, S>(this.#deps, { target, resourceVersion, status })
    const shown = sharing(body.status, status)
    this.#written.remember(key, {
      uid: target.uid,
      atMs: lane === 'heartbeat' ? entry.dueMs : clock.monotonicMs(),
      awaitedUntilMs,
      sent: status,
      shown,
    })
    onWrite?.(kindOf(lane))
    entry.backoff.reset()
    cache.applyResponse({ ...body, status: shown })
    if (body.metadata.resourceVersion !== resourceVersion) onChanged?.(body, sentMs)
    this.#settled(key, entry, status)
  }

  /** Meanwhile another status may have been put, or another object may have the same name. */
  #settled(key: ObjectKey, entry: StatusEntry<S>, sent: S): void {
    entry.isSending = false
    if (this.#entries.get(key) !== entry || isDeepStrictEqual(entry.status, sent)) {
      this.#forget(key, entry)
      return
    }
    this.#entries.delete(key)
    this.put(entry.target, entry.status, 'transition')
    this.#changed.notify()
  }

  #failed(key: ObjectKey, entry: StatusEntry<S>, error: unknown): void {
    entry.isSending = false
    if (this.#deps.signal.aborted || this.#entries.get(key) !== entry) return
    const status = error instanceof KubeError ? error.status : 0
    if (status === 404 || status === 400 || status === 422) {
      if (status !== 404) this.#deps.log.error('the API server rejected a status of the operator', { key, error })
      this.#forget(key, entry)
      return
    }
    this.#again(key, entry, this.#requestedMs(error))
  }

  #requestedMs(error: unknown): number {
    const { log, random } = this.#deps
    if (!(error instanceof KubeError) || error.requestedWaitMs === undefined) return 0
    const waitMs = retryAfterDelayMs(error.requestedWaitMs, random)
    log.warn('the API server requests a wait before the next write of a status', {
      status: error.status,
      ...requestedWait(error),
      wait_ms: Math.round(waitMs),
    })
    return waitMs
  }

  #again(key: ObjectKey, entry: StatusEntry<S>, askedMs: number): void {
    entry.failures += 1
    this.#enqueue(key, entry, this.#deps.clock.monotonicMs() + Math.max(askedMs, entry.backoff.nextMs()))
    this.#changed.notify()
  }

  #forget(key: ObjectKey, entry: StatusEntry<S>): void {
    if (this.#entries.get(key) === entry) this.#entries.delete(key)
    this.#changed.notify()
  }

  #end(): void {
    this.#cancelTimer()
    this.#entries.clear()
    this.#changed.notify()
  }

  #newBackoff(): Backoff {
    return new Backoff({ baseMs: RETRY_BASE_MS, capMs: RETRY_CAP_MS, floor: 0.5, random: this.#deps.random })
  }
}

const kindOf = (lane: Lane): StatusKind => (lane === 'heartbeat' ? 'heartbeat' : 'transition')
