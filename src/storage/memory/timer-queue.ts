/**
 * @module storage/memory/timer-queue
 * TimerQueue orders items by due time; equal times are first in, first out. Cancelling only empties the timer and
 * leaves it in the heap. The heap is rebuilt once half of it is empty, so cancelling costs constant time on average.
 */
import { Heap, type HeapEntry } from '../../runtime/index.ts'

/** An item that becomes due at the time `rank`; its value is `null` once it was taken or cancelled. */
export type Timer<T> = HeapEntry<T | null>

const REBUILD_ABOVE = 64

/** Where a timer stands in due order. */
type Position = Pick<Timer<unknown>, 'rank' | 'order'>
/** A timer that was neither taken nor cancelled. */
type RunningTimer<T> = Timer<T> & { readonly value: T }
const isRunning = <T>(timer: Timer<T>): timer is RunningTimer<T> => timer.value !== null
const byPosition = (a: Position, b: Position): number => a.rank - b.rank || a.order - b.order

export class TimerQueue<T> {
  readonly #heap = new Heap<T | null>()
  #cancelled = 0

  /** Timers that were not cancelled. */
  get size(): number {
    return this.#heap.size - this.#cancelled
  }

  add(dueAtMs: number, item: T): Timer<T> {
    return this.#heap.add(dueAtMs, item)
  }

  /** May be repeated; has no effect once the timer was taken. */
  cancel(timer: Timer<T>): void {
    if (timer.value === null) return
    timer.value = null
    this.#cancelled += 1
    const isMostlyCancelled = this.#cancelled * 2 > this.#heap.size
    if (isMostlyCancelled && this.#heap.size > REBUILD_ABOVE) this.#rebuild()
  }

  /** @returns the time of the earliest timer; `null` if there is none. */
  next(): number | null {
    while (this.#heap.peek()?.value === null) {
      this.#heap.pop()
      this.#cancelled -= 1
    }
    return this.#heap.peek()?.rank ?? null
  }

  /** Removes the earliest timer if its time has come. @returns its item; `null` if none is due. */
  takeDue(nowMs: number): T | null {
    const dueAtMs = this.next()
    const timer = this.#heap.peek()
    if (dueAtMs === null || dueAtMs > nowMs || timer === undefined) return null
    const item = this.#heap.pop() ?? null
    timer.value = null
    return item
  }

  /**
   * Lists timers in due order. Takes time proportional to all timers, because a heap cannot be read from the middle.
   *
   * @param after The position of the timer before the page.
   * @returns the first `limit` timers behind it.
   */
  page(after: Position, limit: number): readonly RunningTimer<T>[] {
    let nearest: RunningTimer<T>[] = []
    let bound: Position | undefined
    for (const timer of this.#heap.entries) {
      const isBeyond = bound !== undefined && byPosition(timer, bound) > 0
      if (isBeyond || !isRunning(timer) || byPosition(timer, after) <= 0) continue
      nearest.push(timer)
      if (nearest.length < 2 * limit) continue
      nearest = nearest.toSorted(byPosition).slice(0, limit)
      bound = nearest.at(-1)
    }
    return nearest.toSorted(byPosition).slice(0, limit)
  }

  /** Counts the timers up to a time, at most `max`. Timers that are due later cost nothing. */
  countDue(untilMs: number, max: number): number {
    const { entries } = this.#heap
    const open = [0] // An entry of a heap is not before its parent.
    let count = 0
    for (let at = open.pop(); at !== undefined && count < max; at = open.pop()) {
      const timer = entries[at]
      if (timer === undefined || timer.rank > untilMs) continue
      if (isRunning(timer)) count += 1
      open.push(2 * at + 1, 2 * at + 2)
    }
    return count
  }

  #rebuild(): void {
    this.#heap.filter(({ value }) => value !== null)
    this.#cancelled = 0
  }
}
