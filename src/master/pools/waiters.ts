/**
 * @module master/pools/waiters
 * Remembers which runs wait for an item of a pool. A claim that gets no item does not wait; the run claims again later.
 * So a run counts as waiting for a minute after a claim of it got nothing, until it gets an item. Each master knows the
 * claims that it served.
 */
import { BoundedMap, type Clock } from '../../runtime/index.ts'

const WAITS_MS = 60_000
const MAX_WAITERS = 10_000
/** Waiters of one list. */
const LISTED = 100

/** A run of a worker. A worker of an earlier release does not report slot and task, and counts as one run. */
export interface Claimant {
  readonly type: string
  readonly workerId: string
  readonly slotId: number | null
  readonly taskId: string | null
}
export interface Waiter extends Claimant {
  readonly pool: string
  readonly sinceMs: number
  readonly lastMs: number
}

export class PoolWaiters {
  readonly #clock: Pick<Clock, 'wallMs'>
  readonly #waiters = new BoundedMap<string, Waiter>(MAX_WAITERS)

  constructor(clock: Pick<Clock, 'wallMs'>) {
    this.#clock = clock
  }

  /** Records the outcome of a claim. */
  claimed(pool: string, run: Claimant, gotItem: boolean): void {
    const key = JSON.stringify([pool, run.type, run.workerId, run.slotId])
    if (gotItem) return void this.#waiters.delete(key)
    const now = this.#clock.wallMs()
    const known = this.#waiters.get(key)
    const sinceMs = known !== undefined && isWaiting(known, now) ? known.sinceMs : now
    this.#waiters.set(key, { ...run, pool, sinceMs, lastMs: now })
  }

  /** @returns how many runs wait for an item of the pool, and the 100 that have waited longest. */
  of(pool: string): { readonly count: number; readonly longest: readonly Waiter[] } {
    const now = this.#clock.wallMs()
    const waiting = [...this.#waiters].flatMap(([, each]) => (each.pool === pool && isWaiting(each, now) ? [each] : []))
    return { count: waiting.length, longest: waiting.toSorted((a, b) => a.sinceMs - b.sinceMs).slice(0, LISTED) }
  }
}

const isWaiting = ({ lastMs }: Waiter, now: number): boolean => lastMs > now - WAITS_MS
