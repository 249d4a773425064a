/**
 * @module storage/memory/timer-queue
 * Orders items by due time in a binary heap; equal times are first in, first out. Cancelling only empties the timer and
 * leaves it in the heap. The heap is rebuilt once half of it is empty, so cancelling costs constant time on average.
 */
export interface Timer<T> {
  readonly at: number
  readonly order: number
  item: T | null
}

const REBUILD_ABOVE = 64

export class TimerQueue<T> {
  #heap: Timer<T>[] = []
  #order = 0
  #cancelled = 0

  /** Entries that were not cancelled. */
  get size(): number {
    return this.#heap.length - this.#cancelled
  }

  add(at: number, item: T): Timer<T> {
    const entry = { at, order: (this.#order += 1), item }
    this.#heap.push(entry)
    this.#rise(this.#heap.length - 1)
    return entry
  }

  /** May be repeated; has no effect once the timer was taken. */
  cancel(entry: Timer<T>): void {
    if (entry.item === null) return
    entry.item = null
    this.#cancelled += 1
    if (this.#cancelled * 2 > this.#heap.length && this.#heap.length > REBUILD_ABOVE) this.#rebuild()
  }

  /** The time of the earliest entry. */
  next(): number | null {
    while (this.#heap[0]?.item === null) {
      this.#pop()
      this.#cancelled -= 1
    }
    return this.#heap[0]?.at ?? null
  }

  /** Takes the earliest entry if its time has come. */
  takeDue(now: number): T | null {
    const at = this.next()
    if (at === null || at > now) return null
    const [first] = this.#heap
    const item = first?.item ?? null
    if (first !== undefined) first.item = null
    this.#pop()
    return item
  }

  #rebuild(): void {
    this.#heap = this.#heap.filter((entry) => entry.item !== null)
    this.#cancelled = 0
    for (let i = (this.#heap.length >> 1) - 1; i >= 0; i -= 1) this.#sink(i)
  }

  #pop(): void {
    const last = this.#heap.pop()
    if (last === undefined || this.#heap.length === 0) return
    this.#heap[0] = last
    this.#sink(0)
  }

  #rise(from: number): void {
    const heap = this.#heap
    const entry = heap[from]
    if (entry === undefined) return
    let i = from
    while (i > 0) {
      const up = (i - 1) >> 1
      const above = heap[up]
      if (above === undefined || !before(entry, above)) break
      heap[i] = above
      i = up
    }
    heap[i] = entry
  }

  #sink(from: number): void {
    const heap = this.#heap
    const entry = heap[from]
    if (entry === undefined) return
    let i = from
    for (;;) {
      const left = heap[2 * i + 1]
      const right = heap[2 * i + 2]
      if (left === undefined) break
      const least = right !== undefined && before(right, left) ? right : left
      if (!before(least, entry)) break
      heap[i] = least
      i = least === left ? 2 * i + 1 : 2 * i + 2
    }
    heap[i] = entry
  }
}

function before(a: Timer<unknown>, b: Timer<unknown>): boolean {
  return a.at === b.at ? a.order < b.order : a.at < b.at
}
