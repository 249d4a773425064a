/**
 * @module master/queue/latencies
 * Measures how long the tasks of one automation type waited and ran, and counts the times in buckets (D167).
 *
 *   wait   from when a task was due, by its submit or its not_before, until its first lease (attempt 0). A dead task
 *          that was replayed still counts from its submit
 *   run    from a lease until this master acknowledged or failed it. Leases of other masters are not known here, so
 *          with several masters a part of the runs is measured
 *
 * A bucket is a tenth of a decade: bucket 0 is below 1 ms, bucket n from 10^((n-1)/10) to 10^(n/10) ms. Its geometric
 * middle is at most 12.2 % off each of its times. Buckets of several masters and steps are added.
 */
import { BoundedMap, type Clock } from '../../runtime/index.ts'
import type { Lease, LeaseRef, RollupNumbers } from '../../storage/index.ts'

/** Leases of one type whose beginning is remembered. Beyond it the oldest is not measured. */
const MAX_LEASES = 100_000
const BUCKETS_PER_DECADE = 10
/** From 73 days on. */
const LAST_BUCKET = 99

/** The times at the end of the text of a task (body-text.ts). */
const TIMES = /^"priority":-?\d+,(?:"not_before":(?<due>[\d.]+),)?"submitted_at":(?<submitted>[\d.]+)\}$/

export class Latencies {
  readonly #clock: Clock
  /** When a lease began, monotonic, by its token. */
  readonly #leases = new BoundedMap<number, number>(MAX_LEASES)
  #counts = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Records leases that were passed to a worker. */
  leased(leases: readonly Lease[]): void {
    const [wallMs, nowMs] = [this.#clock.wallMs(), this.#clock.monotonicMs()]
    for (const { token, attempt, body } of leases) {
      this.#leases.set(token, nowMs)
      const dueMs = attempt === 0 ? dueMsIn(body) : null
      if (dueMs !== null) this.#count('w', wallMs - dueMs)
    }
  }

  /** Records runs that ended, done or failed. A lease that is not known, or not any more, is left out. */
  ended(leases: readonly LeaseRef[]): void {
    const nowMs = this.#clock.monotonicMs()
    for (const { token } of leases) {
      const sinceMs = this.#leases.get(token)
      if (sinceMs !== undefined) this.#count('r', nowMs - sinceMs)
      this.#leases.delete(token)
    }
  }

  /** Forgets leases whose run did not end, such as released ones. */
  dropped(leases: readonly LeaseRef[]): void {
    for (const { token } of leases) this.#leases.delete(token)
  }

  /** @returns the counts since the last call, by `w` (wait) or `r` (run) and bucket. */
  take(): RollupNumbers {
    const taken = Object.fromEntries(this.#counts)
    this.#counts = new Map()
    return taken
  }

  /** Adds counts that were taken and not stored. */
  putBack(counts: RollupNumbers): void {
    for (const [name, count] of Object.entries(counts)) this.#add(name, count)
  }

  #count(kind: 'w' | 'r', ms: number): void {
    this.#add(`${kind}${bucketOf(ms)}`, 1)
  }

  #add(name: string, count: number): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + count)
  }
}

/** @returns when a task was due; null if its text has another form. */
function dueMsIn(body: string): number | null {
  const times = TIMES.exec(body.slice(body.lastIndexOf('"priority":')))?.groups
  if (times === undefined) return null
  return 1_000 * Math.max(Number(times['due'] ?? 0), Number(times['submitted']))
}

/** @param ms Any number; below 0, as of clocks that differ, it is bucket 0. */
export function bucketOf(ms: number): number {
  if (ms < 1) return 0
  return Math.min(LAST_BUCKET, 1 + Math.floor(BUCKETS_PER_DECADE * Math.log10(ms)))
}

/** @returns the geometric middle of a bucket, in ms. */
export const middleMs = (bucket: number): number => 10 ** ((bucket - 0.5) / BUCKETS_PER_DECADE)
