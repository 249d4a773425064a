/**
 * @module operator/kube/status-writer
 * Writes statuses by server-side apply, as rarely as possible. It always sends the whole status that the operator owns,
 * so that omitted fields disappear, and only if it differs from the cache. Each object has one entry: the latest status
 * wins.
 *
 * Every write carries the resource version that the cache shows for the uid. So a status never reaches another object
 * of the same name: for `/status` of a custom resource kube-apiserver checks the version, but not the uid.
 *
 *   put, transition ──500 ms, to combine──▶ due ──100/s──┐     the first status after an edit precedes the others
 *                                                        ├─▶ in flight (16) ──▶ success: the response updates the cache
 *   put, heartbeat ──the object's offset in a period──▶ due ──10/s──┘      ├─▶ 404, 400, 422: dropped
 *                                                                          └─▶ 409 and all else: backoff, due again
 *
 * Statuses that do not follow an edit are sent only while fewer than 4 are in flight. A heartbeat (last seen, usage:
 * what changes all the time) is sent together with a transition at no cost. One writer serves one term of leadership:
 * its signal ends with the term, and with it every write.
 */
import { isDeepStrictEqual } from 'node:util'
import { Backoff, Heap, retryAfterDelayMs, Signal, TokenBucket } from '../../runtime/index.ts'
import type { Clock, Log, Random, Timers } from '../../runtime/index.ts'
import { isBehind } from './edits.ts'
import { heartbeatPeriodMs, nextHeartbeatMs } from './heartbeat-schedule.ts'
import { KubeError, requestedWait } from './kube-error.ts'
import {
  apiVersionOf,
  keyOf,
  objectPath,
  type KubeObject,
  type ObjectKey,
  type ObjectRef,
  type Resource,
} from './objects.ts'
import { sharing } from './sharing.ts'
import type { KubeTransport } from './transport.ts'
import { WrittenStatuses } from './written-statuses.ts'

const COMPANY_MS = 500
const MAX_IN_FLIGHT = 16
/** Limit for statuses that do not follow an edit, which reserves capacity of the API server for edits. */
const MAX_BULK_IN_FLIGHT = 4
const TRANSITIONS = { capacity: MAX_IN_FLIGHT, perSecond: 100 }
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
  readonly #rates: Readonly<Record<StatusKind, TokenBucket>>
  readonly #written: WrittenStatuses<T, S>
  readonly #startedMs: number
  #inFlight = 0
  #isFlushing = false
  #cancelTimer: () => void = () => {}
  /** After every change of the entries. */
  readonly #changed: Signal

  constructor(deps: StatusWriterDeps<T, S>) {
    this.#deps = deps
    this.#startedMs = deps.clock.monotonicMs()
    this.#written = new WrittenStatuses(deps.cache)
    this.#changed = new Signal(deps.timers)
    this.#rates = {
      transition: new TokenBucket(deps.clock, TRANSITIONS),
      heartbeat: new TokenBucket(deps.clock, HEARTBEATS),
    }
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
      next.dueMs =
        real === 'heartbeat'
          ? this.#heartbeatAtMs(key, target.uid)
          : this.#deps.clock.monotonicMs() + (this.#isFlushing ? 0 : COMPANY_MS)
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
    const current = this.#deps.cache.get(key)
    return kind === 'transition' && current !== undefined && isBehind(current) ? 'edit' : kind
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
    const rate = this.#rates[kindOf(lane)]
    for (let top = heap.peek(); top !== undefined; top = heap.peek()) {
      const entry = this.#entries.get(top.value)
      if (entry === undefined || entry.isSending || entry.lane !== lane || entry.dueMs !== top.rank) {
        heap.pop()
        continue
      }
      // The next response calls this again.
      if (this.#inFlight >= (lane === 'edit' ? MAX_IN_FLIGHT : MAX_BULK_IN_FLIGHT)) return []
      const waitMs = top.rank - this.#deps.clock.monotonicMs()
      if (waitMs > 0) return [waitMs]
      if (!rate.take()) return [rate.waitMs()]
      heap.pop()
      void this.#send(top.value, entry)
    }
    return []
  }

  async #send(key: ObjectKey, entry: StatusEntry<S>): Promise<void> {
    const { cache, clock, mayWrite, onWrite } = this.#deps
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
    const { status } = entry
    const kind = kindOf(entry.lane)
    entry.isSending = true
    this.#inFlight += 1
    try {
      const { body } = await this.#apply(entry.target, current.metadata.resourceVersion, status)
      const shown = sharing(body.status, status)
      this.#written.remember(key, {
        uid: entry.target.uid,
        atMs: kind === 'heartbeat' ? entry.dueMs : clock.monotonicMs(),
        sent: status,
        shown,
      })
      onWrite?.(kind)
      entry.backoff.reset()
      cache.applyResponse({ ...body, status: shown })
      this.#settled(key, entry, status)
    } catch (error) {
      this.#failed(key, entry, error)
    } finally {
      this.#inFlight -= 1
      this.#pump()
    }
  }

  #apply(target: ObjectRef, resourceVersion: string, status: S): Promise<{ readonly body: T }> {
    const { fieldManager, resource, signal, transport } = this.#deps
    const body = {
      apiVersion: apiVersionOf(resource),
      kind: resource.kind,
      metadata: { name: target.name, namespace: target.namespace, resourceVersion },
      status,
    }
    return transport.json<T>(
      {
        method: 'PATCH',
        path: objectPath(resource, target, 'status'),
        query: { fieldManager, force: true },
        contentType: 'application/apply-patch+yaml',
        body,
      },
      signal,
    )
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
