/**
 * @module master/queue/task-dispatcher
 * Dispatches pending tasks to the long polls of one automation type. One reserve is in flight at a time. It contains
 * every waiter that it may serve, merged into one request per worker (waiters.ts). Waiting therefore costs the store
 * nothing, and a wake-up costs one call.
 *
 *   idle ──tasks ready, new worker, due retry, tick every second──▶ reserving ──▶ delivering
 *    ▲                                                                  ▲             │ │
 *    │                           reading configs that are not cached ───┴── stale ◀───┘ │
 *    └──── the queue is empty, and there was no wake-up meanwhile ◀─────────────────────┘
 *
 * No wake-up is lost. `#ready` is an upper bound of the pending tasks: every wake-up adds to it, before, during or
 * after a reserve, also while no waiter is there, and only leased tasks are subtracted. If the bound is not known (at
 * start, after a result at its limit, a promoted retry, a failure), it is infinite. So one submit costs one call with
 * one waiter, however many are waiting, and a waiter that arrives at an empty queue costs none. If the notification of
 * a task is lost, the tick finds the task.
 *
 * The signal of another master reaches every master, mostly for one task, and only one of them gets it. So the first
 * reserve after a signal contains 8 waiters at most (`probe`). If the queue is not empty then, the next contains all.
 *
 * A submit of this master does not wait for its commit (`expect`): the reserve is sent to the store right behind the
 * submit, and both share one round trip. If the store runs the reserve first, it leases too little, the bound is not
 * lowered, and the next call finds the tasks.
 *
 * A draining worker gets an empty result (G14). The reserve itself reads the worker's record, so it cannot miss a
 * drain. `dismiss` ends the waiters of the worker before the drain request returns. Leases of a reserve that was in
 * flight then are released, even if the worker polls again meanwhile. Otherwise leases go to the polls of their worker
 * that are open when the store responds, newest first. Leases that no poll takes are released (D78).
 *
 * A call of the store has limits: 500 leases, 12 MiB, 1,000 expired tasks. Only a call that stays below them shows that
 * the queue is empty. Until then no waiter ends empty, and a waiter that got nothing is first in the next call (G31).
 * A refusal ends every poll of its worker that was requested, so that each ineligible worker costs one call at most.
 *
 * A reserve contains the attempt limit of each worker, and the generation of the config that it was read from. If the
 * generation has changed, the store returns `stale`, and the config is read again.
 *
 * While the store is unavailable, waiters with a wait time keep waiting and are served afterwards. They get the error
 * at their deadline; waiters without a wait time get it immediately.
 */
import type { CatalogEntry } from '../../automation/index.ts'
import { MAX_RESERVED_PER_CALL, RpcError } from '../../protocol/index.ts'
import type { Cancel } from '../../runtime/index.ts'
import type { Backend, Lease, LeaseRef, Reservation, ReserveRefusal, ReserveRequest } from '../../storage/index.ts'
import { AttemptLimits } from './attempt-limits.ts'
import { Waiters, type ReserveOptions, type Group, type Waiter, type WaitersDeps } from './waiters.ts'

/** Limits of one reserve, from the storage contract. */
const MAX_REQUESTS = 500
const MAX_LEASES = 500
/** Waiters in the first reserve after a signal. With 500, an empty reserve costs Redis ten times as much. */
const PROBED_WAITERS = 8
/** Well below the size at which a reserve stops early. A larger result does not show how many tasks are left. */
const LARGE_RESULT_CHARS = 4 * 1_048_576
const MAX_DROPPED = 1_000
/** The shortest delay of the timer for due retries, for a due time that is already in the past. */
const MIN_DUE_DELAY_MS = 10
const NO_LEASES: Reservation = { kind: 'leased', leases: [] }

export interface TaskDispatcherDeps extends WaitersDeps {
  readonly backend: Backend
  /** The backend's time, to compute the delay until a due time. */
  readonly backendNowMs: () => number
  readonly release: (leases: readonly LeaseRef[]) => Promise<void>
  readonly onExpired: (count: number) => void
  readonly onReserveFailed: (error: unknown) => void
}

interface SentRequest {
  readonly group: Group
  readonly request: ReserveRequest
}

export class TaskDispatcher {
  readonly #entry: CatalogEntry
  readonly #deps: TaskDispatcherDeps
  readonly #waiters: Waiters
  readonly #limits: AttemptLimits
  #ready = Infinity
  /** The bound is infinite only because of a signal, and no reserve was sent since. */
  #isProbe = false
  /** Tasks whose submit is under way. They are part of `#ready`. */
  #submitting = 0
  #running = false
  /** Workers that were dismissed during the current reserve. */
  readonly #dismissed = new Set<string>()
  #closed = false
  #lastFailure: { readonly error: unknown } | null = null
  #cancelDue: Cancel = () => {}
  #dueMs: number | null = null

  constructor(entry: CatalogEntry, deps: TaskDispatcherDeps) {
    this.#entry = entry
    this.#deps = deps
    this.#waiters = new Waiters(deps)
    this.#limits = new AttemptLimits(entry.defaults.max_attempts, (workers) =>
      deps.backend.configs.get(workers.map((id) => ({ type: entry.type, id }))),
    )
  }

  get waiting(): number {
    return this.#waiters.size
  }

  /** @returns up to `limit` leases; none after `waitMs`. */
  reserve(options: ReserveOptions): Promise<readonly Lease[]> {
    if (this.#closed) return Promise.resolve([])
    const isRequested = options.waitMs === 0 || !this.#limits.knows(options.worker)
    const leases = this.#waiters.wait(options, (waiter) => this.#onDeadline(waiter), isRequested)
    this.#startRun()
    return leases
  }

  /** Records that up to `tasks` tasks became pending. */
  wake(tasks = Infinity): void {
    this.#ready += tasks
    if (tasks === Infinity) this.#isProbe = false
    this.#startRun()
  }

  /** Records that tasks became pending on another master, mostly a few. */
  probe(): void {
    if (this.#ready !== Infinity) this.#isProbe = true
    this.#ready = Infinity
    this.#startRun()
  }

  /**
   * Reserves for up to `tasks` tasks whose submit was just sent to the store.
   * @param submitted Settles when the submit has ended.
   */
  expect(tasks: number, submitted: Promise<unknown>): void {
    if (tasks === 0) return
    this.#submitting += tasks
    const settled = (): void => void (this.#submitting -= tasks)
    submitted.then(settled, settled)
    this.wake(tasks)
  }

  /** Ends the waiters of one worker with an empty result. The next one is part of a reserve, which reads its record. */
  dismiss(worker: string): void {
    if (this.#running) this.#dismissed.add(worker)
    this.#limits.forget(worker)
    this.#waiters.dismiss(worker)
  }

  /** Ends every waiter, and every later one, with an empty result. */
  close(): void {
    this.#closed = true
    this.#cancelDue()
    this.#waiters.dismiss()
  }

  #startRun(): void {
    if (!this.#running && this.#waiters.size > 0) void this.#run()
  }

  async #run(): Promise<void> {
    this.#running = true
    await Promise.resolve() // Includes all calls of the same tick.
    for (;;) {
      const ready = this.#ready
      const batch = this.#waiters.next(this.#isProbe ? Math.min(ready, PROBED_WAITERS) : ready, MAX_REQUESTS)
      if (batch.length === 0) break
      this.#ready = 0 // Later wake-ups are counted again.
      this.#isProbe = false
      // After a failure the next tick or the next caller tries again.
      if (!(await this.#serveOrFail(batch, ready))) break
    }
    this.#running = false
  }

  async #serveOrFail(batch: readonly Group[], ready: number): Promise<boolean> {
    this.#dismissed.clear()
    try {
      const left = await this.#serve(batch, ready)
      this.#ready += left // Read only now, because wake-ups may have added to it.
      this.#lastFailure = null
      return true
    } catch (error) {
      this.#ready = Infinity
      this.#lastFailure = { error }
      this.#deps.onReserveFailed(error)
      for (const { waiters } of batch) for (const waiter of waiters) if (!waiter.isPatient) waiter.reject(error)
      return false
    }
  }

  /** @returns how many of the `ready` tasks may still be pending. */
  async #serve(batch: readonly Group[], ready: number): Promise<number> {
    const requests = await this.#requestsFor(batch)
    if (requests.length === 0) return ready
    const submitting = this.#submitting
    const { results, dropped, nextDueAtMs } = await this.#deps.backend.tasks.reserve(
      this.#entry.type,
      this.#entry.visibilityMs,
      requests.map(({ request }) => request),
    )
    if (dropped > 0) this.#deps.onExpired(dropped)
    const seen = inspectResults(requests, results, dropped)
    const undelivered: Lease[] = []
    for (const [at, one] of requests.entries()) {
      undelivered.push(...this.#deliver(one, results[at] ?? NO_LEASES, seen.isEmpty))
    }
    if (seen.isEmpty) this.#waiters.sawEmpty()
    if (undelivered.length > 0) void this.#deps.release(undelivered)
    const promoted = this.#wakeAt(nextDueAtMs)
    if (promoted || seen.isCut) return Infinity
    const left = Math.max(0, ready - seen.leased)
    return seen.isEmpty ? Math.min(left, submitting) : left
  }

  /** Creates the requests of those that still wait. Waiters of an unregistered worker get an error. */
  async #requestsFor(batch: readonly Group[]): Promise<readonly SentRequest[]> {
    const limits = await this.#limits.of(new Set(batch.map(({ worker }) => worker)))
    const requests: SentRequest[] = []
    for (const group of batch) {
      const { worker, waiters } = group
      const config = limits.get(worker)
      const limit = Math.min(
        MAX_RESERVED_PER_CALL,
        waiters.reduce((sum, waiter) => sum + (waiter.isOpen ? waiter.limit : 0), 0),
      )
      if (config === undefined) this.#refuseUnknown(worker)
      else if (limit > 0)
        requests.push({ group, request: { worker, limit, gen: config.gen, defaultMaxAttempts: config.maxAttempts } })
    }
    return requests
  }

  /** Delivers the result for one worker. @returns the leases that no poll took. */
  #deliver({ group }: SentRequest, result: Reservation, isEmpty: boolean): readonly Lease[] {
    if (result.kind === 'refused') {
      this.#refuse(group, result.reason)
      return []
    }
    const { worker, waiters } = group
    const { leases } = result
    if (this.#dismissed.has(worker)) return leases
    const undelivered = this.#waiters.deliver(worker, leases)
    for (const waiter of waiters) this.#endUnserved(waiter, isEmpty)
    return undelivered
  }

  #refuse({ worker, waiters }: Group, reason: ReserveRefusal): void {
    switch (reason) {
      case 'unknown':
        this.#limits.forget(worker)
        this.#refuseUnknown(worker)
        break
      case 'stale':
        this.#limits.forget(worker)
        waiters.forEach((waiter) => this.#waiters.requeue(waiter))
        break
      case 'draining':
        this.#waiters.requestedOf(worker).forEach((waiter) => waiter.resolve([]))
    }
  }

  /** @param isEmpty The queue was empty after this reserve. Otherwise there may be a task for this waiter. */
  #endUnserved(waiter: Waiter, isEmpty: boolean): void {
    if (!isEmpty) this.#waiters.passOver(waiter)
    else if (!waiter.isPatient) waiter.resolve([])
  }

  #refuseUnknown(worker: string): void {
    const sentence = `no worker "${worker}" of type "${this.#entry.type}" is registered; register first`
    for (const waiter of this.#waiters.requestedOf(worker)) waiter.reject(new RpcError('unknown_worker', sentence))
  }

  /**
   * Sets the timer for the next due retry.
   * @returns true if the retry of the previous timer was promoted. Others may have been promoted with it.
   */
  #wakeAt(dueMs: number | null): boolean {
    const before = this.#dueMs
    this.#cancelDue()
    this.#dueMs = dueMs
    if (this.#dueMs !== null) {
      this.#cancelDue = this.#deps.timers.after(
        Math.max(MIN_DUE_DELAY_MS, this.#dueMs - this.#deps.backendNowMs()),
        () => this.wake(),
      )
    }
    return before !== null && (dueMs === null || dueMs > before)
  }

  #onDeadline(waiter: Waiter): void {
    if (this.#lastFailure === null) waiter.resolve([])
    else waiter.reject(this.#lastFailure.error)
  }
}

interface SeenResults {
  readonly leased: number
  /** The call stopped at one of its limits, so it does not show whether tasks are left. */
  readonly isCut: boolean
  /** A request got less than its limit, so no task was left. */
  readonly isEmpty: boolean
}

/** What the results of a reserve show about the queue. */
function inspectResults(
  requests: readonly SentRequest[],
  results: readonly Reservation[],
  dropped: number,
): SeenResults {
  let leased = 0
  let chars = 0
  let isShort = false
  for (const [at, { request }] of requests.entries()) {
    const own = results[at] ?? NO_LEASES
    if (own.kind === 'refused') continue
    leased += own.leases.length
    for (const { body } of own.leases) chars += body.length
    isShort ||= own.leases.length < request.limit
  }
  const isCut = leased >= MAX_LEASES || chars >= LARGE_RESULT_CHARS || dropped >= MAX_DROPPED
  return { leased, isCut, isEmpty: isShort && !isCut }
}
