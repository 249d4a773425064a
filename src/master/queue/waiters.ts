/**
 * @module master/queue/waiters
 * The long polls of one automation type, oldest first. A waiter ends exactly once: with leases, empty (deadline,
 * dismissed, its client gone), or with an error. Whoever offers leases to one that has ended is told `false` and must
 * give them back.
 *
 * Bounds: 4 a worker, beyond which the oldest is answered empty (a client that lost its connection asks anew before its
 * old request is seen to be gone); 20,000 in all, beyond which the new one is refused.
 */
import { FleetError } from '../../protocol/index.ts'
import type { Timers } from '../../runtime/index.ts'
import type { Lease } from '../../storage/index.ts'

const MAX_PER_WORKER = 4
export const MAX_WAITERS = 20_000

export interface Ask {
  readonly worker: string
  readonly limit: number
  /** 0: answered by the first look at the store. */
  readonly waitMs: number
  /** Aborts when the client went away. */
  readonly signal: AbortSignal
}

/** How many wait, over all types. */
export interface Room {
  taken: number
}

type Leases = readonly Lease[]

export class Waiter {
  readonly worker: string
  readonly limit: number
  readonly patient: boolean
  readonly #resolve: (leases: Leases) => void
  readonly #reject: (error: unknown) => void
  #onEnd: ((waiter: Waiter) => void) | null

  constructor(
    ask: Ask,
    resolve: (leases: Leases) => void,
    reject: (error: unknown) => void,
    onEnd: (waiter: Waiter) => void,
  ) {
    this.worker = ask.worker
    this.limit = ask.limit
    this.patient = ask.waitMs > 0
    this.#resolve = resolve
    this.#reject = reject
    this.#onEnd = onEnd
  }

  get open(): boolean {
    return this.#onEnd !== null
  }

  /** False: it had ended before, and the leases are not taken. */
  answer(leases: Leases): boolean {
    if (!this.#end()) return false
    this.#resolve(leases)
    return true
  }

  refuse(error: unknown): void {
    if (this.#end()) this.#reject(error)
  }

  #end(): boolean {
    const onEnd = this.#onEnd
    this.#onEnd = null
    onEnd?.(this)
    return onEnd !== null
  }
}

export class Waiters {
  readonly #room: Room
  readonly #timers: Timers
  readonly #fifo = new Set<Waiter>()
  readonly #unasked = new Set<Waiter>()
  readonly #byWorker = new Map<string, Set<Waiter>>()

  constructor(room: Room, timers: Timers) {
    this.#room = room
    this.#timers = timers
  }

  get size(): number {
    return this.#fifo.size
  }

  /**
   * Waits for leases. `onDeadline` ends the waiter in its own way when its time is over.
   * @throws FleetError OVERLOADED, when too many wait.
   */
  wait(ask: Ask, onDeadline: (waiter: Waiter) => void): Promise<Leases> {
    if (ask.signal.aborted) return Promise.resolve([])
    if (this.#room.taken >= MAX_WAITERS) {
      return Promise.reject(
        new FleetError('OVERLOADED', 'too many workers wait for tasks; try again', { retryAfterSeconds: 1 }),
      )
    }
    return new Promise((resolve, reject) => {
      const onAbort = (): void => void waiter.answer([])
      const cancel = ask.waitMs > 0 ? this.#timers.after(ask.waitMs, () => onDeadline(waiter)) : () => {}
      const waiter = new Waiter(ask, resolve, reject, (ended) => {
        cancel()
        ask.signal.removeEventListener('abort', onAbort)
        this.#remove(ended)
      })
      ask.signal.addEventListener('abort', onAbort, { once: true })
      this.#insert(waiter)
    })
  }

  /** Those whom the store is asked for next: the `ready` oldest, and all that were never asked for; at most `most`. */
  next(ready: number, most: number): readonly Waiter[] {
    const batch = new Set<Waiter>()
    for (const waiter of this.#fifo) {
      if (batch.size >= Math.min(ready, most)) break
      batch.add(waiter)
    }
    for (const waiter of this.#unasked) {
      if (batch.size >= most) break
      batch.add(waiter)
    }
    for (const waiter of batch) this.#unasked.delete(waiter)
    return [...batch]
  }

  /** The store could not be asked for this one yet: it is carried once more, whatever is ready. */
  again(waiter: Waiter): void {
    if (waiter.open) this.#unasked.add(waiter)
  }

  /** Answers those of one worker empty; of every worker, when none is named. */
  dismiss(worker?: string): void {
    const waiters = worker === undefined ? this.#fifo : (this.#byWorker.get(worker) ?? [])
    for (const waiter of waiters) waiter.answer([])
  }

  #insert(waiter: Waiter): void {
    const own = this.#byWorker.get(waiter.worker) ?? new Set()
    this.#byWorker.set(waiter.worker, own.add(waiter))
    this.#fifo.add(waiter)
    this.#unasked.add(waiter)
    this.#room.taken += 1
    const [oldest] = own
    if (own.size > MAX_PER_WORKER) oldest?.answer([])
  }

  #remove(waiter: Waiter): void {
    this.#fifo.delete(waiter)
    this.#unasked.delete(waiter)
    this.#room.taken -= 1
    const own = this.#byWorker.get(waiter.worker)
    own?.delete(waiter)
    if (own?.size === 0) this.#byWorker.delete(waiter.worker)
  }
}
