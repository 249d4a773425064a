/**
 * @module master/queue/task-dispatcher
 * Gives pending tasks to the long polls of one automation type. One reserve is in flight at a time and carries every
 * waiter that it might serve, merged into one request a worker (waiters.ts), so that waiting costs the store nothing and
 * waking costs it one call.
 *
 *   idle ──a new waiter, wake, due retry, the tick of each second──▶ reserving ──▶ answering
 *    ▲                                                                  ▲             │ │
 *    │                     reading the configs that are not known ──────┴── stale ◀───┘ │
 *    └──── the store ran dry, and nobody woke the pump meanwhile ◀──────────────────────┘
 *
 * No wake-up is lost. A waiter that was never carried is carried next, in any case; one that was carried and got
 * nothing has seen the store dry, and from then on `#ready` bounds the tasks that became pending from above: every wake
 * adds to it before, while or after the store is asked, and only what was leased is taken off. Where that bound cannot
 * be told (an answer at its limits, a retry promoted on the way, a failure) it is infinite. So one submit costs one call
 * that carries one waiter, however many wait. Should a task become ready unheard, the tick finds it.
 *
 * A draining worker is answered empty (G14). The reserve itself looks at its record, so no drain slips in between; and
 * `dismiss` ends what the drain found waiting before its POST is answered: leases of a reserve that was under way then
 * are released, also where the worker polls again meanwhile. Otherwise leases go to whichever polls of their worker are
 * open when the store answers, newest first; what no poll takes is released (D78).
 *
 * The reserve brings along the attempt limit of each worker, and the generation of the config that it was read from:
 * where that has changed the store answers `stale`, and the config is read anew.
 *
 * While the store is away patient waiters keep waiting and are served when it is back; at their deadline, and
 * impatient ones at once, they are told the error.
 */
import type { CatalogEntry } from '../../automation/index.ts'
import { MAX_RESERVED_PER_CALL, RpcError } from '../../protocol/index.ts'
import type { Cancel } from '../../runtime/index.ts'
import type { Backend, Lease, LeaseRef, Reservation, ReserveRequest } from '../../storage/index.ts'
import { AttemptLimits } from './attempt-limits.ts'
import { Waiters, type ReserveOptions, type Group, type Waiter, type WaitersPorts } from './waiters.ts'

/** What one reserve takes and answers; its bounds are the contract's. */
const MAX_REQUESTS = 500
const MAX_LEASES = 500
/** Well under the bytes at which a reserve stops early: such an answer says nothing about what is left. */
const LARGE_ANSWER_CHARS = 4 * 1_048_576
const MAX_DROPPED = 1_000
/** A due time that lies in the past by our reckoning is not asked for more often than this. */
const SOONEST_MS = 10

export interface TaskDispatcherPorts extends WaitersPorts {
  readonly backend: Backend
  /** The backend's time, to know how far away a due time is. */
  readonly backendNowMs: () => number
  readonly release: (leases: readonly LeaseRef[]) => Promise<void>
  readonly onExpired: (count: number) => void
  readonly onTrouble: (error: unknown) => void
}

interface Asked {
  readonly group: Group
  readonly request: ReserveRequest
}

export class TaskDispatcher {
  readonly #entry: CatalogEntry
  readonly #ports: TaskDispatcherPorts
  readonly #waiters: Waiters
  readonly #limits: AttemptLimits
  #ready = 0
  #running = false
  /** Workers that were dismissed while the store was asked. */
  readonly #dismissed = new Set<string>()
  #closed = false
  #trouble: { readonly error: unknown } | null = null
  #cancelDue: Cancel = () => {}
  #dueMs: number | null = null

  constructor(entry: CatalogEntry, ports: TaskDispatcherPorts) {
    this.#entry = entry
    this.#ports = ports
    this.#waiters = new Waiters(ports)
    this.#limits = new AttemptLimits(entry.defaults.max_attempts, (workers) =>
      ports.backend.configs.get(workers.map((id) => ({ type: entry.type, id }))),
    )
  }

  get waiting(): number {
    return this.#waiters.size
  }

  /** Up to `limit` leases, or none within `waitMs`. */
  reserve(options: ReserveOptions): Promise<readonly Lease[]> {
    if (this.#closed) return Promise.resolve([])
    const leases = this.#waiters.wait(options, (waiter) => this.#onDeadline(waiter))
    this.#kick()
    return leases
  }

  /** Says that up to `tasks` tasks became pending. */
  wake(tasks = Infinity): void {
    if (this.#waiters.size === 0) return // Whoever comes next is carried in any case.
    this.#ready += tasks
    this.#kick()
  }

  /** Answers the waiters of one worker empty. */
  dismiss(worker: string): void {
    if (this.#running) this.#dismissed.add(worker)
    this.#waiters.dismiss(worker)
  }

  /** Answers every waiter empty, and whoever still comes. */
  close(): void {
    this.#closed = true
    this.#cancelDue()
    this.#waiters.dismiss()
  }

  #kick(): void {
    if (!this.#running) void this.#run()
  }

  async #run(): Promise<void> {
    this.#running = true
    await Promise.resolve() // What the same tick asks for goes along.
    for (;;) {
      const ready = this.#ready
      const batch = this.#waiters.next(ready, MAX_REQUESTS)
      this.#ready = 0 // What is woken from here on counts anew.
      if (batch.length === 0 || !(await this.#serveOrFail(batch, ready))) break // The next tick, or the next caller, tries again.
    }
    this.#running = false
  }

  async #serveOrFail(batch: readonly Group[], ready: number): Promise<boolean> {
    this.#dismissed.clear()
    try {
      const left = await this.#serve(batch, ready)
      this.#ready += left // Read only now: wakes have added to it meanwhile.
      this.#trouble = null
      return true
    } catch (error) {
      this.#ready = Infinity
      this.#trouble = { error }
      this.#ports.onTrouble(error)
      for (const { waiters } of batch) for (const waiter of waiters) if (!waiter.patient) waiter.reject(error)
      return false
    }
  }

  /** Answers how many of the `ready` tasks may still be pending. */
  async #serve(batch: readonly Group[], ready: number): Promise<number> {
    const asked = await this.#asked(batch)
    if (asked.length === 0) return ready
    const {
      results: answers,
      dropped,
      nextDueAtMs: nextDue,
    } = await this.#ports.backend.tasks.reserve(
      this.#entry.type,
      this.#entry.visibilityMs,
      asked.map(({ request }) => request),
    )
    if (dropped > 0) this.#ports.onExpired(dropped)
    const orphans: Lease[] = []
    for (const [at, one] of asked.entries()) orphans.push(...this.#answer(one, answers[at] ?? []))
    if (orphans.length > 0) void this.#ports.release(orphans)
    const promoted = this.#wakeAt(nextDue)
    return promoted || dropped >= MAX_DROPPED ? Infinity : leftOf(ready, asked, answers)
  }

  /** The requests of those that still wait; a worker that is not registered gets its error. */
  async #asked(batch: readonly Group[]): Promise<readonly Asked[]> {
    const limits = await this.#limits.of(new Set(batch.map(({ worker }) => worker)))
    const asked: Asked[] = []
    for (const group of batch) {
      const { worker, waiters } = group
      const config = limits.get(worker)
      const limit = Math.min(
        MAX_RESERVED_PER_CALL,
        waiters.reduce((sum, waiter) => sum + (waiter.open ? waiter.limit : 0), 0),
      )
      if (config === undefined) waiters.forEach((waiter) => this.#refuseUnknown(waiter))
      else if (limit > 0)
        asked.push({ group, request: { worker, limit, gen: config.gen, defaultMaxAttempts: config.maxAttempts } })
    }
    return asked
  }

  /** Returns the leases that no poll took. */
  #answer({ group: { worker, waiters }, request }: Asked, answer: Reservation): readonly Lease[] {
    switch (answer) {
      case 'unknown':
        this.#limits.forget(worker)
        waiters.forEach((waiter) => this.#refuseUnknown(waiter))
        return []
      case 'stale':
        this.#limits.forget(worker)
        waiters.forEach((waiter) => this.#waiters.requeue(waiter))
        return []
      case 'draining':
        waiters.forEach((waiter) => waiter.resolve([]))
        return []
      default: {
        if (this.#dismissed.has(worker)) return answer
        const orphans = this.#waiters.deliver(worker, answer)
        for (const waiter of waiters) this.#unserved(waiter, answer.length >= request.limit)
        return orphans
      }
    }
  }

  /** `more`: another poll took what was meant for this one, so this one has not seen the queue dry. */
  #unserved(waiter: Waiter, more: boolean): void {
    if (more) this.#waiters.requeue(waiter)
    else if (!waiter.patient) waiter.resolve([])
  }

  #refuseUnknown(waiter: Waiter): void {
    waiter.reject(
      new RpcError(
        'unknown_worker',
        `no worker "${waiter.worker}" of type "${this.#entry.type}" is registered; register first`,
      ),
    )
  }

  /** Arms the timer for the next due retry. True: the one it was armed for has been promoted, and others with it perhaps. */
  #wakeAt(dueMs: number | null): boolean {
    const before = this.#dueMs
    this.#cancelDue()
    this.#dueMs = this.#waiters.size === 0 ? null : dueMs
    if (this.#dueMs !== null) {
      this.#cancelDue = this.#ports.timers.after(Math.max(SOONEST_MS, this.#dueMs - this.#ports.backendNowMs()), () =>
        this.wake(),
      )
    }
    return before !== null && (dueMs === null || dueMs > before)
  }

  #onDeadline(waiter: Waiter): void {
    if (this.#trouble === null) waiter.resolve([])
    else waiter.reject(this.#trouble.error)
  }
}

/** How many of `ready` tasks are left, after a reserve that answered so. */
function leftOf(ready: number, asked: readonly Asked[], answers: readonly Reservation[]): number {
  let count = 0
  let chars = 0
  let short = false
  for (const [at, { request }] of asked.entries()) {
    const own = answers[at] ?? []
    if (typeof own === 'string') continue
    count += own.length
    for (const { body } of own) chars += body.length
    short ||= own.length < request.limit
  }
  if (count >= MAX_LEASES || chars >= LARGE_ANSWER_CHARS) return Infinity
  return short ? 0 : Math.max(0, ready - count)
}
