/**
 * @module runtime/heap
 * Heap orders values by rank in a binary heap: the smallest rank first, equal ranks in order of insertion. Adding and
 * removing take O(log n).
 */

/** A value in the heap. The holder may replace `value`; its position depends on `rank` and `order` alone. */
export interface HeapEntry<T> {
  readonly rank: number
  /** Number of the insertion. */
  readonly order: number
  value: T
}

export class Heap<T> {
  #entries: HeapEntry<T>[] = []
  #order = 0

  get size(): number {
    return this.#entries.length
  }

  /** All entries, in the order of the heap: only the first one is known to be the smallest. */
  get entries(): readonly HeapEntry<T>[] {
    return this.#entries
  }

  add(rank: number, value: T): HeapEntry<T> {
    this.#order += 1
    const entry = { rank, order: this.#order, value }
    this.#entries.push(entry)
    this.#moveUp(entry)
    return entry
  }

  /** @returns the first entry, which stays in the heap; `undefined` if the heap is empty. */
  peek(): HeapEntry<T> | undefined {
    return this.#entries[0]
  }

  /** Removes the first entry. @returns its value; `undefined` if the heap is empty. */
  pop(): T | undefined {
    const first = this.#entries[0]
    const last = this.#entries.pop()
    if (first !== undefined && last !== undefined && last !== first) this.#moveDown(last, 0)
    return first?.value
  }

  /** Removes every entry that `shouldKeep` rejects, in O(n). */
  filter(shouldKeep: (entry: HeapEntry<T>) => boolean): void {
    this.#entries = this.#entries.filter(shouldKeep)
    for (let at = (this.#entries.length >> 1) - 1; at >= 0; at -= 1) {
      const entry = this.#entries[at]
      if (entry !== undefined) this.#moveDown(entry, at)
    }
  }

  /** Moves the last entry towards the top until its parent is before it. */
  #moveUp(entry: HeapEntry<T>): void {
    const entries = this.#entries
    let at = entries.length - 1
    while (at > 0) {
      const parentAt = (at - 1) >> 1
      const parent = entries[parentAt]
      if (parent === undefined || !isBefore(entry, parent)) break
      entries[at] = parent
      at = parentAt
    }
    entries[at] = entry
  }

  /** Puts `entry` at the position `from`, or below it until its children are after it. */
  #moveDown(entry: HeapEntry<T>, from: number): void {
    const entries = this.#entries
    let at = from
    for (;;) {
      const left = entries[2 * at + 1]
      const right = entries[2 * at + 2]
      if (left === undefined) break
      const least = right !== undefined && isBefore(right, left) ? right : left
      if (!isBefore(least, entry)) break
      entries[at] = least
      at = least === left ? 2 * at + 1 : 2 * at + 2
    }
    entries[at] = entry
  }
}

function isBefore(a: HeapEntry<unknown>, b: HeapEntry<unknown>): boolean {
  return a.rank === b.rank ? a.order < b.order : a.rank < b.rank
}
