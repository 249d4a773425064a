/**
 * @module operator/kube/events
 * Records Events of events.k8s.io/v1 for users. No decision depends on them, so every limit drops events and never
 * waits.
 * Equal events (uid, type, reason, note) become one Event, whose series count is updated at most every 5 min.
 */
import { Buffer } from 'node:buffer'
import {
  BoundedMap,
  CONTROL_RUNS,
  retryAfterDelayMs,
  Signal,
  sleep,
  TokenBucket,
  type Clock,
  type Log,
  type Random,
  type Timers,
} from '../../runtime/index.ts'
import { KubeError } from './kube-error.ts'
import { collectionPath, microTime, objectPath, type ObjectRef, type Resource } from './objects.ts'
import type { KubeTransport } from './transport.ts'

const EVENT: Resource = { group: 'events.k8s.io', version: 'v1', plural: 'events', kind: 'Event' }
const FOLD_MS = 5 * 60_000
/** After this time without a repetition the next event creates a new Event. */
const SERIES_MS = 2 * FOLD_MS
const MAX_QUEUED = 1_000
const MAX_SERIES = 10_000
const RATE_PER_OBJECT = { capacity: 10, perSecond: 1 / 60 }
const RATE = { capacity: 10, perSecond: 10 }
const ATTEMPTS = 3
const RETRY_MS = 2_000
/** The API server counts bytes, and refuses a longer note. */
const MAX_NOTE_BYTES = 1_024
const MAX_NAME_CHARS = 253
/** Length of `.` and 16 hexadecimal digits. */
const SUFFIX_CHARS = 17

export type EventType = 'Normal' | 'Warning'

/** The object of an event. */
export interface EventTarget extends ObjectRef {
  readonly apiVersion: string
  readonly kind: string
}

export interface EventRecorder {
  record(target: EventTarget, type: EventType, reason: string, message: string): void
}

export interface EventRecorderDeps {
  readonly transport: KubeTransport
  readonly clock: Clock
  readonly timers: Timers
  readonly random: Random
  readonly log: Log
  /** The controller's name, such as `muster.dev/operator`, and this replica's. */
  readonly controller: string
  readonly instance: string
  readonly onDrop?: () => void
}

interface Series {
  readonly target: EventTarget
  readonly type: EventType
  readonly reason: string
  readonly note: string
  /** The name of the Event; `undefined` until it was created. */
  name: string | undefined
  count: number
  /** The count that the API server has. */
  writtenCount: number
  lastWallMs: number
  lastMs: number
  writtenMs: number
  isQueued: boolean
}

/** The message on one line, cut between two characters. */
function noteOf(message: string): string {
  const bytes = Buffer.from(message.replaceAll(CONTROL_RUNS, ' ').toWellFormed())
  if (bytes.length <= MAX_NOTE_BYTES) return bytes.toString()
  let end = MAX_NOTE_BYTES
  while (isContinuation(bytes[end])) end -= 1
  return bytes.subarray(0, end).toString()
}

/** Whether the byte is one of a UTF-8 character, and not its first one. */
const isContinuation = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x80 && byte < 0xc0

export class FoldingEventRecorder implements EventRecorder {
  readonly #deps: EventRecorderDeps
  readonly #series = new BoundedMap<string, Series>(MAX_SERIES)
  readonly #buckets = new Map<string, TokenBucket>()
  readonly #rate: TokenBucket
  readonly #queue: Series[] = []
  readonly #arrival: Signal

  constructor(deps: EventRecorderDeps) {
    this.#deps = deps
    this.#rate = new TokenBucket(deps.clock, RATE)
    this.#arrival = new Signal(deps.timers)
  }

  record(target: EventTarget, type: EventType, reason: string, message: string): void {
    const note = noteOf(message)
    const key = JSON.stringify([target.uid, type, reason, note])
    const known = this.#series.get(key)
    const nowMs = this.#deps.clock.monotonicMs()
    if (known !== undefined && nowMs - known.lastMs < SERIES_MS) {
      known.count += 1
      known.lastMs = nowMs
      known.lastWallMs = this.#deps.clock.wallMs()
      if (nowMs - known.writtenMs >= FOLD_MS) this.#enqueue(known)
      return
    }
    if (!this.#bucketOf(target.uid).take()) {
      this.#deps.onDrop?.()
      return
    }
    const series: Series = {
      target,
      type,
      reason,
      note,
      name: undefined,
      count: 1,
      writtenCount: 1,
      lastWallMs: this.#deps.clock.wallMs(),
      lastMs: nowMs,
      writtenMs: nowMs,
      isQueued: false,
    }
    this.#series.set(key, series)
    this.#enqueue(series)
  }

  /** Sends recorded events until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { timers } = this.#deps
    const stopFolding = timers.every(FOLD_MS / 5, () => this.#fold())
    while (!signal.aborted) {
      const series = this.#queue.shift()
      if (series === undefined) {
        await this.#arrival.wait(signal)
        continue
      }
      series.isQueued = false
      while (!this.#rate.take() && !signal.aborted) await sleep(timers, Math.max(1, this.#rate.waitMs()), signal)
      await this.#send(series, signal)
    }
    stopFolding()
  }

  /** Writes the counts that have grown, and drops series that no longer repeat. */
  #fold(): void {
    const nowMs = this.#deps.clock.monotonicMs()
    for (const [key, series] of this.#series) {
      if (series.count > series.writtenCount && nowMs - series.writtenMs >= FOLD_MS) this.#enqueue(series)
      else if (nowMs - series.lastMs >= SERIES_MS) this.#series.delete(key)
    }
    for (const [uid, bucket] of this.#buckets) if (bucket.isFull) this.#buckets.delete(uid)
  }

  #enqueue(series: Series): void {
    if (series.isQueued) return
    if (this.#queue.length >= MAX_QUEUED) {
      this.#deps.onDrop?.()
      return
    }
    series.isQueued = true
    this.#queue.push(series)
    this.#arrival.notify()
  }

  async #send(series: Series, signal: AbortSignal): Promise<void> {
    const { log, onDrop, random, timers } = this.#deps
    for (let attempt = 1; attempt <= ATTEMPTS && !signal.aborted; attempt += 1) {
      try {
        await (series.name === undefined ? this.#create(series, signal) : this.#count(series, series.name, signal))
        return
      } catch (error) {
        const status = error instanceof KubeError ? error.status : 0
        if (status === 404 && series.name !== undefined) {
          series.name = undefined // The API server forgets Events after an hour.
          continue
        }
        if (status >= 400 && status < 500 && status !== 429) {
          log.info(series.note, {
            reason: series.reason,
            object: `${series.target.namespace}/${series.target.name}`,
            refused: (error as Error).message,
          })
          return
        }
        const requestedMs = error instanceof KubeError ? (error.requestedWaitMs ?? 0) : 0
        await sleep(timers, Math.max(RETRY_MS, retryAfterDelayMs(requestedMs, random)), signal)
      }
    }
    onDrop?.()
  }

  async #create(series: Series, signal: AbortSignal): Promise<void> {
    const { clock, controller, instance, random, transport } = this.#deps
    const { target, type, reason, note } = series
    const suffix = Buffer.from(random.bytes(8)).toString('hex')
    const name = `${target.name.slice(0, MAX_NAME_CHARS - SUFFIX_CHARS)}.${suffix}`
    const { apiVersion, kind, namespace, uid } = target
    await transport.json(
      {
        method: 'POST',
        path: collectionPath(EVENT, namespace),
        body: {
          apiVersion: 'events.k8s.io/v1',
          kind: 'Event',
          metadata: { name, namespace },
          eventTime: microTime(clock.wallMs()),
          type,
          reason,
          note,
          action: reason,
          reportingController: controller,
          reportingInstance: instance.slice(0, 128),
          regarding: { apiVersion, kind, namespace, name: target.name, uid },
        },
      },
      signal,
    )
    series.name = name
    series.writtenCount = 1
    series.writtenMs = clock.monotonicMs()
  }

  async #count(series: Series, name: string, signal: AbortSignal): Promise<void> {
    const { count, lastWallMs } = series // Events that are recorded from here on belong to the next write.
    const body = { series: { count, lastObservedTime: microTime(lastWallMs) } }
    await this.#deps.transport.json(
      {
        method: 'PATCH',
        path: objectPath(EVENT, { namespace: series.target.namespace, name }),
        contentType: 'application/merge-patch+json',
        body,
      },
      signal,
    )
    series.writtenCount = count
    series.writtenMs = this.#deps.clock.monotonicMs()
  }

  #bucketOf(uid: string): TokenBucket {
    const bucket = this.#buckets.get(uid) ?? new TokenBucket(this.#deps.clock, RATE_PER_OBJECT)
    this.#buckets.set(uid, bucket)
    return bucket
  }
}
