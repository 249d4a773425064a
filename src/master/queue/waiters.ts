/**
 * @module master/queue/waiters
 * Holds the long polls of one automation type. A waiter ends exactly once: with leases, empty (deadline, dismissed,
 * client disconnected, replaced), or with an error. A stream is a waiter that passes its leases on and keeps waiting,
 * until as many were leased as its limit allows; after each delivery its worker goes to the end of the line.
 *
 * Workers take turns, first come first served. Every poll adds a turn for its worker at the end of the line, and a
 * lease uses the oldest turn of its worker. All polls of a worker share one request to the store (D78). Of one worker
 * the newest poll is served first, because its connection is most likely to be alive. But a poll that a request carried
 * and that got nothing while tasks were left comes before all newer ones, until the queue is seen empty (D102, G31).
 *
 *   polls    a1 a2 b1 a3      turns    A A B A      two tasks become ready: both go to worker A, to a3 and then to a2
 *   polls    a1 b1            turns    B A          the next task goes to worker B, although a1 is the oldest poll
 *   polls    a1 a2            a3 arrives during the store call for both, which returns two tasks: they go to a3 and a2.
 *                             The next call carries a1, and a1 gets its task, whichever polls arrive meanwhile
 *
 * Limits (G17): 64 polls per worker; above it the oldest ends empty if it has waited 5 s, otherwise the new one is
 * rejected. 20,000 polls in total; above it the new one is rejected.
 */
import { FleetError, MAX_RESERVES_PER_WORKER } from '../../protocol/index.ts'
import type { Clock, Timers } from '../../runtime/index.ts'
import type { Lease } from '../../storage/index.ts'

export const MAX_WAITERS = 20_000
/** Younger polls are not replaced by a new one. So 64 polls end at most 13 polls a second. */
const REPLACEABLE_AFTER_MS = 5_000

export interface ReserveOptions {
  readonly worker: string
  readonly limit: number
  /** 0: returns after the first reserve. */
  readonly waitMs: number
  /** Names one poll of the worker. A new poll with the same name ends the earlier one. */
  readonly pollId?: string | undefined
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal
  /**
   * Makes the reserve a stream: called with each group of leases, which are at most `limit` in all.
   * @returns false if the client reads too slowly; the stream then ends.
   */
  readonly onLeases?: (leases: readonly Lease[]) => boolean
}

/** The number of waiters of all types. */
export interface Capacity {
  taken: number
}

export interface WaitersDeps {
  readonly capacity: Capacity
  readonly timers: Timers
  readonly clock: Clock
  readonly onRefused: (reason: RefusedReserve) => void
}

/** `displaced`: ended empty before its deadline, because of a newer poll of the same worker. */
export type RefusedReserve = 'per_worker' | 'in_all' | 'displaced'

/** The polls of one worker that share one request. */
export interface Group {
  readonly worker: string
  readonly waiters: readonly Waiter[]
}

type Leases = readonly Lease[]

/** The polls of one worker, oldest first, and the same number of turns. */
interface Polls {
  readonly worker: string
  readonly waiters: Waiter[]
  readonly turns: Turn[]
}
interface Turn {
  readonly polls: Polls
}

interface Settle {
  readonly resolve: (leases: Leases) => void
  readonly reject: (error: unknown) => void
  readonly onEnd: (waiter: Waiter, served: boolean) => void
}

export class Waiter {
  readonly worker: string
  readonly isPatient: boolean
  readonly pollId: string | undefined
  readonly sinceMs: number
  /** How often the queue had been seen empty when this waiter was passed over; null if it never was. */
  passedOverAfter: number | null = null
  readonly #onLeases: ReserveOptions['onLeases']
  #limit: number
  #settle: Settle | null

  constructor({ worker, limit, waitMs, pollId, onLeases }: ReserveOptions, sinceMs: number, settle: Settle) {
    this.worker = worker
    this.#limit = limit
    this.#onLeases = onLeases
    this.isPatient = waitMs > 0
    this.pollId = pollId
    this.sinceMs = sinceMs
    this.#settle = settle
  }

  get isOpen(): boolean {
    return this.#settle !== null
  }

  /** Number of leases that the waiter still accepts. */
  get limit(): number {
    return this.#limit
  }

  /** Delivers at least one lease, at most `limit`. A long poll ends with it, a stream when its limit is used up. */
  deliver(leases: Leases): void {
    if (this.#onLeases === undefined) return this.resolve(leases)
    this.#limit -= leases.length
    const isReading = this.#onLeases(leases)
    if (this.#limit === 0 || !isReading) this.#end(true)?.resolve([])
  }

  /** Does nothing if the waiter has already ended. */
  resolve(leases: Leases): void {
    this.#end(leases.length > 0)?.resolve(leases)
  }

  reject(error: unknown): void {
    this.#end(false)?.reject(error)
  }

  #end(served: boolean): Settle | null {
    const settle = this.#settle
    this.#settle = null
    settle?.onEnd(this, served)
    return settle
  }
}

export class Waiters {
  readonly #deps: WaitersDeps
  readonly #turns = new Set<Turn>()
  readonly #unrequested = new Set<Waiter>()
  /** How often the queue was seen empty. A waiter that was passed over since then has this number. */
  #timesEmpty = 0
  readonly #byWorker = new Map<string, Polls>()

  constructor(deps: WaitersDeps) {
    this.#deps = deps
  }

  get size(): number {
    return this.#turns.size
  }

  /**
   * Waits for leases.
   * @param options Worker, limit and time of the poll.
   * @param onDeadline Ends the waiter when its time has passed.
   * @param isRequested The poll is part of the next reserve, however many tasks are ready.
   * @returns the leases; none if the poll ended without.
   * @throws {FleetError} OVERLOADED if too many polls are waiting.
   */
  wait(options: ReserveOptions, onDeadline: (waiter: Waiter) => void, isRequested = true): Promise<Leases> {
    if (options.signal.aborted) return Promise.resolve([])
    const { timers, clock } = this.#deps
    const refusal = this.#makeCapacity(options)
    if (refusal !== null) return Promise.reject(refusal)
    return new Promise((resolve, reject) => {
      const onAbort = (): void => waiter.resolve([])
      const cancel = options.waitMs > 0 ? timers.after(options.waitMs, () => onDeadline(waiter)) : () => {}
      const onEnd = (ended: Waiter, served: boolean): void => {
        cancel()
        options.signal.removeEventListener('abort', onAbort)
        this.#remove(ended, served)
      }
      const waiter = new Waiter(options, clock.monotonicMs(), { resolve, reject, onEnd })
      options.signal.addEventListener('abort', onAbort, { once: true })
      this.#insert(waiter, isRequested)
    })
  }

  /**
   * What to request from the store next: the `ready` turns that are next in line, and every new poll.
   * @param most The highest number of workers.
   */
  next(ready: number, most: number): readonly Group[] {
    const turns = new Map<Polls, number>()
    let left = ready
    for (const { polls } of this.#turns) {
      const own = turns.get(polls)
      if (left <= 0 || (own === undefined && turns.size >= most)) break
      turns.set(polls, (own ?? 0) + 1)
      left -= 1
    }
    for (const { worker } of this.#unrequested) {
      const polls = this.#byWorker.get(worker)
      if (polls === undefined || turns.has(polls)) continue
      if (turns.size >= most) break
      turns.set(polls, 0)
    }
    return Array.from(turns, ([polls, count]) => this.#group(polls, count))
  }

  /** Includes this waiter in the next reserve, however many tasks are ready. */
  requeue(waiter: Waiter): void {
    if (waiter.isOpen) this.#unrequested.add(waiter)
  }

  /** Requeues a waiter that got nothing while tasks were left. It is served before all newer ones (G31). */
  passOver(waiter: Waiter): void {
    this.requeue(waiter)
    waiter.passedOverAfter = this.#timesEmpty
  }

  /** Records that the queue was empty after a reserve. All waiters are served newest first again. */
  sawEmpty(): void {
    this.#timesEmpty += 1
  }

  /** The open waiters of a worker, except those that no request has carried since they came or were requeued. */
  requestedOf(worker: string): readonly Waiter[] {
    return this.#byWorker.get(worker)?.waiters.filter((waiter) => !this.#unrequested.has(waiter)) ?? []
  }

  /** Delivers leases to the open polls of a worker, including new ones. @returns the leases that are left. */
  deliver(worker: string, leases: Leases): Leases {
    let from = 0
    for (const waiter of this.#inOrderOfService(worker)) {
      if (from >= leases.length) break
      const own = leases.slice(from, from + waiter.limit)
      from += own.length
      waiter.deliver(own)
      if (waiter.isOpen) this.#moveToEnd(worker)
    }
    return leases.slice(from)
  }

  /** Ends the waiters of one worker with an empty result; of every worker if none is given. */
  dismiss(worker?: string): void {
    const dismissed = worker === undefined ? [...this.#byWorker.values()] : [this.#byWorker.get(worker)]
    for (const polls of dismissed) for (const waiter of polls?.waiters.slice() ?? []) waiter.resolve([])
  }

  /** Moves the oldest turn of a worker to the end of the line. */
  #moveToEnd(worker: string): void {
    const turns = this.#byWorker.get(worker)?.turns ?? []
    const [turn] = turns.splice(0, 1)
    if (turn === undefined) return
    turns.push(turn)
    this.#turns.delete(turn)
    this.#turns.add(turn)
  }

  #inOrderOfService(worker: string): readonly Waiter[] {
    const waiters = this.#byWorker.get(worker)?.waiters ?? []
    const isPassedOver = (waiter: Waiter): boolean => waiter.passedOverAfter === this.#timesEmpty
    return [...waiters.filter(isPassedOver), ...waiters.filter((waiter) => !isPassedOver(waiter)).toReversed()]
  }

  /** The newest polls of a worker, as many as it has turns, and the new ones. */
  #group({ worker, waiters }: Polls, turns: number): Group {
    const carried = waiters.filter((waiter, at) => at >= waiters.length - turns || this.#unrequested.has(waiter))
    for (const waiter of carried) this.#unrequested.delete(waiter)
    return { worker, waiters: carried }
  }

  /** Ends the poll that this one replaces, if any. @returns why the new poll is rejected, or null. */
  #makeCapacity({ worker, pollId }: ReserveOptions): FleetError | null {
    const { capacity, clock, onRefused } = this.#deps
    const own = this.#byWorker.get(worker)?.waiters ?? []
    if (pollId !== undefined) own.find((waiter) => waiter.pollId === pollId)?.resolve([])
    if (capacity.taken >= MAX_WAITERS)
      return this.#refusal('in_all', 'too many reserves are waiting on this master; try again')
    const [oldest] = own
    if (oldest === undefined || own.length < MAX_RESERVES_PER_WORKER) return null
    if (clock.monotonicMs() - oldest.sinceMs < REPLACEABLE_AFTER_MS) {
      return this.#refusal(
        'per_worker',
        `worker "${worker}" already has ${MAX_RESERVES_PER_WORKER} waiting reserves; ` +
          'reserve more tasks per call, or try again',
      )
    }
    onRefused('displaced')
    oldest.resolve([])
    return null
  }

  #refusal(reason: RefusedReserve, sentence: string): FleetError {
    this.#deps.onRefused(reason)
    return new FleetError('OVERLOADED', sentence, { retryAfterSeconds: 1 })
  }

  #insert(waiter: Waiter, isRequested: boolean): void {
    const { worker } = waiter
    const polls = this.#byWorker.get(worker) ?? { worker, waiters: [], turns: [] }
    const turn = { polls }
    this.#byWorker.set(worker, polls)
    polls.waiters.push(waiter)
    polls.turns.push(turn)
    this.#turns.add(turn)
    if (isRequested) this.#unrequested.add(waiter)
    this.#deps.capacity.taken += 1
  }

  /**
   * Removes a waiter. A lease uses the oldest turn of the worker; a poll that ended without one removes its own turn.
   */
  #remove(waiter: Waiter, served: boolean): void {
    this.#unrequested.delete(waiter)
    this.#deps.capacity.taken -= 1
    const polls = this.#byWorker.get(waiter.worker)
    if (polls === undefined) return
    const at = polls.waiters.indexOf(waiter)
    polls.waiters.splice(at, 1)
    for (const turn of polls.turns.splice(served ? 0 : at, 1)) this.#turns.delete(turn)
    if (polls.waiters.length === 0) this.#byWorker.delete(waiter.worker)
  }
}
