/**
 * @module operator/kube/work-queue
 * Queues keys for reconciles by priority. A key is in one state at a time:
 *
 *   waiting (until its deadline) ──▶ due ──take──▶ running ──done──▶ removed, waiting, or due immediately if it was
 *                                                                    added while it ran
 *
 * The highest priority comes first; within a priority, first in, first out. At most twelve of the running keys are bulk
 * work, which leaves four reconciles for edits, however long bulk work takes; bulk work can also be held back
 * altogether. To prevent starvation, a key that has been due for 200 s gets one turn of eight. A run cancels every
 * deadline that was set before it.
 */
import { Backoff, Heap, type Clock, type Random, type Timers } from '../../runtime/index.ts'
import type { ObjectKey } from './objects.ts'
import { PRIORITY, type Priority } from './priority.ts'

export type ReconcileOutcome =
  /** A requeue after `againAfterMs` has the priority of an event, unless `priority` is set. */
  | { readonly kind: 'ok'; readonly againAfterMs?: number; readonly priority?: Priority }
  /** Retried after the key's own backoff, and not before `afterMs`. */
  | { readonly kind: 'retry'; readonly afterMs?: number }
  /** Only a change of the object can help: no retry. */
  | { readonly kind: 'terminal' }

/** A key that has been due for this long need not wait for all that is more urgent. */
const PATIENCE_MS = 200_000
const TURNS_PER_OLDEST = 8
/** Lower priorities are bulk work. */
const URGENT: Priority = PRIORITY.deletion
const MAX_BULK_RUNNING = 12
const RETRY_BASE_MS = 1_000
const RETRY_CAP_MS = 30_000

export interface QueueObserver {
  readonly onAdd: () => void
  /** Called when a key left the queue after `waitedMs`. */
  readonly onTake: (waitedMs: number) => void
  readonly onDone: (ranMs: number) => void
  readonly onRetry: () => void
}

export interface WorkQueueDeps {
  readonly clock: Clock
  readonly timers: Timers
  readonly random: Random
  readonly observer?: QueueObserver
}

interface Due {
  readonly key: ObjectKey
  readonly priority: Priority
  readonly sinceMs: number
}
interface Waiting {
  readonly atMs: number
  readonly priority: Priority
}
interface Running {
  readonly priority: Priority
  readonly sinceMs: number
  again: Priority | undefined
}

export class WorkQueue {
  readonly #deps: WorkQueueDeps
  /** The key that has been due for longest is first. */
  readonly #due = new Map<ObjectKey, Due>()
  readonly #waiting = new Map<ObjectKey, Waiting>()
  readonly #running = new Map<ObjectKey, Running>()
  readonly #backoffs = new Map<ObjectKey, Backoff>()
  readonly #dueHeap = new Heap<Due>()
  readonly #waitingHeap = new Heap<ObjectKey>()
  readonly #takers: (() => void)[] = []
  #bulkRunning = 0
  #isBulkHeld = false
  #turns = 0
  #cancelTimer: () => void = () => {}
  #parked: string | null = null
  #releasedMs = -Infinity

  constructor(deps: WorkQueueDeps) {
    this.#deps = deps
  }

  /** Adds a key. An existing entry is merged: the higher priority wins, and its waiting time is kept. */
  add(key: ObjectKey, priority: Priority): void {
    const running = this.#running.get(key)
    if (running !== undefined) running.again = higher(running.again, priority)
    else this.#makeDue(key, priority)
  }

  /** Adds a key with a deadline. The earlier of two deadlines wins. */
  addAfter(key: ObjectKey, delayMs: number, priority: Priority): void {
    if (delayMs <= 0) {
      this.add(key, priority)
      return
    }
    const atMs = this.#deps.clock.monotonicMs() + delayMs
    const known = this.#waiting.get(key)
    if (known !== undefined && known.atMs <= atMs) return
    this.#waiting.set(key, { atMs, priority })
    this.#waitingHeap.add(atMs, key)
    this.#arm()
  }

  /** @returns the next key, as soon as there is one. Rejects with the signal's reason. */
  async take(signal: AbortSignal): Promise<ObjectKey> {
    signal.throwIfAborted()
    for (;;) {
      const key = this.#parked === null ? this.#first() : undefined
      if (key !== undefined) return key
      await this.#change(signal)
      if (!signal.aborted) continue
      this.#takers.shift()?.() // Another taker gets the key that woke this one.
      signal.throwIfAborted()
    }
  }

  /** Ends the run of a key. @throws {TypeError} if it was not running. */
  done(key: ObjectKey, outcome: ReconcileOutcome): void {
    const run = this.#running.get(key)
    if (run === undefined) throw new TypeError(`${key} is not running`)
    this.#running.delete(key)
    if (run.priority < URGENT) this.#bulkRunning -= 1
    this.#deps.observer?.onDone(this.#deps.clock.monotonicMs() - run.sinceMs)
    if (outcome.kind !== 'retry') this.#backoffs.delete(key)
    if (outcome.kind === 'retry') this.#retry(key, outcome.afterMs, run.priority)
    else if (outcome.kind === 'ok' && outcome.againAfterMs !== undefined)
      this.addAfter(key, outcome.againAfterMs, outcome.priority ?? PRIORITY.event)
    if (run.again !== undefined) this.#makeDue(key, run.again)
    else if (run.priority < URGENT) this.#takers.shift()?.() // Other bulk work may run now.
  }

  /** While held, only edits and deletions are returned. Other keys can still be added, and age. */
  holdBulk(isHeld: boolean): void {
    this.#isBulkHeld = isHeld
    if (!isHeld) this.#wakeAll()
  }

  /** With a reason: returns no key until it is called with `null`. Keys can still be added, and age. */
  park(reason: string | null): void {
    this.#parked = reason
    if (reason !== null) return
    this.#releasedMs = this.#deps.clock.monotonicMs()
    this.#wakeAll()
  }

  /** When parking last ended, by the monotonic clock. */
  get releasedMs(): number {
    return this.#releasedMs
  }

  get parked(): string | null {
    return this.#parked
  }

  /** Number of keys that could be taken now. */
  get depth(): number {
    return this.#due.size
  }

  /** How long each of the running keys has been running. */
  runningMs(): readonly number[] {
    const nowMs = this.#deps.clock.monotonicMs()
    return [...this.#running.values()].map(({ sinceMs }) => nowMs - sinceMs)
  }

  /** When the key that has been due for longest became due, by the monotonic clock; `undefined` if none is due. */
  get oldestDueMs(): number | undefined {
    return this.#oldest?.sinceMs
  }

  #retry(key: ObjectKey, afterMs: number | undefined, priority: Priority): void {
    this.#deps.observer?.onRetry()
    const backoff =
      this.#backoffs.get(key) ?? new Backoff({ baseMs: RETRY_BASE_MS, capMs: RETRY_CAP_MS, random: this.#deps.random })
    this.#backoffs.set(key, backoff)
    this.addAfter(key, Math.max(1, afterMs ?? 0, backoff.nextMs()), priority)
  }

  #makeDue(key: ObjectKey, priority: Priority): void {
    const known = this.#due.get(key)
    if (known !== undefined && known.priority >= priority) return
    if (known === undefined) this.#deps.observer?.onAdd()
    const due: Due = { key, priority, sinceMs: known?.sinceMs ?? this.#deps.clock.monotonicMs() }
    this.#due.set(key, due) // Keeps its position if it was due already.
    this.#dueHeap.add(-priority, due)
    this.#takers.shift()?.()
  }

  #first(): ObjectKey | undefined {
    const hasRoom = !this.#isBulkHeld && this.#bulkRunning < MAX_BULK_RUNNING
    const due = (hasRoom ? this.#overdue() : undefined) ?? this.#foremost()
    if (due === undefined || (due.priority < URGENT && !hasRoom)) return undefined
    const { key, priority, sinceMs } = due
    this.#due.delete(key)
    this.#waiting.delete(key)
    const nowMs = this.#deps.clock.monotonicMs()
    this.#running.set(key, { priority, sinceMs: nowMs, again: undefined })
    if (priority < URGENT) this.#bulkRunning += 1
    this.#deps.observer?.onTake(nowMs - sinceMs)
    return key
  }

  #overdue(): Due | undefined {
    const oldest = this.#oldest
    if (oldest === undefined || this.#deps.clock.monotonicMs() - oldest.sinceMs < PATIENCE_MS) return undefined
    this.#turns = (this.#turns + 1) % TURNS_PER_OLDEST
    return this.#turns === 0 ? oldest : undefined
  }

  #foremost(): Due | undefined {
    for (let due = this.#dueHeap.peek()?.value; due !== undefined; due = this.#dueHeap.peek()?.value) {
      if (this.#due.get(due.key) === due) return due
      this.#dueHeap.pop() // Obsolete: its key has a higher priority now, or was taken out of turn.
    }
    return undefined
  }

  get #oldest(): Due | undefined {
    return this.#due.values().next().value
  }

  /** Resolves when a key may have become due; rejects when the signal aborts. */
  #change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#takers.splice(this.#takers.indexOf(wake), 1)
        reject(signal.reason as Error)
      }
      const wake = (): void => {
        signal.removeEventListener('abort', onAbort)
        resolve()
      }
      this.#takers.push(wake)
      signal.addEventListener('abort', onAbort, { once: true })
    })
  }

  #wakeAll(): void {
    for (const wake of this.#takers.splice(0)) wake()
  }

  /** One timer for all deadlines. */
  #arm(): void {
    this.#cancelTimer()
    const top = this.#waitingHeap.peek()
    if (top === undefined) return
    this.#cancelTimer = this.#deps.timers.after(Math.max(0, top.rank - this.#deps.clock.monotonicMs()), () =>
      this.#promote(),
    )
  }

  #promote(): void {
    const nowMs = this.#deps.clock.monotonicMs()
    for (let top = this.#waitingHeap.peek(); top !== undefined && top.rank <= nowMs; top = this.#waitingHeap.peek()) {
      this.#waitingHeap.pop()
      const waiting = this.#waiting.get(top.value)
      if (waiting?.atMs !== top.rank) continue // Superseded by a run or an earlier deadline.
      this.#waiting.delete(top.value)
      this.add(top.value, waiting.priority)
    }
    this.#arm()
  }

  /** Stops the timer. No further key becomes due by time alone. */
  close(): void {
    this.#cancelTimer()
  }
}

function higher(a: Priority | undefined, b: Priority): Priority {
  return a !== undefined && a > b ? a : b
}
