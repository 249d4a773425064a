/** @module runtime/bounded-map  A map with a maximum number of entries, for caches. */

/**
 * Stores at most `maxEntries` entries. `set` makes an entry the newest one; beyond the limit the oldest entry is
 * removed. A cache that calls `use` for its reads removes the least recently used entry (LRU); one that calls `get`
 * removes the entry that was set first (FIFO).
 *
 * With a limit of 2, `set('a')`, `set('b')`, `use('a')`, `set('c')` leaves `a` and `c`.
 */
export class BoundedMap<K, V> {
  readonly #maxEntries: number
  /** Ordered by age, oldest first: an entry is deleted and inserted again to become the newest. */
  readonly #entries = new Map<K, V>()

  /** @param maxEntries 1 or more. */
  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries
  }

  get size(): number {
    return this.#entries.size
  }

  /** Returns the value without changing the age of its entry. */
  get(key: K): V | undefined {
    return this.#entries.get(key)
  }

  /** Returns the value, and makes its entry the newest one. */
  use(key: K): V | undefined {
    const value = this.#entries.get(key)
    if (value !== undefined) this.#move(key, value)
    return value
  }

  /** Stores the value as the newest entry. Removes the oldest entry if there is one too many. */
  set(key: K, value: V): void {
    this.#move(key, value)
    if (this.#entries.size <= this.#maxEntries) return
    const oldest = this.#entries.keys().next()
    if (oldest.done === false) this.#entries.delete(oldest.value)
  }

  /** @returns whether there was such an entry. */
  delete(key: K): boolean {
    return this.#entries.delete(key)
  }

  /** The entries, oldest first. An entry may be deleted during the iteration. */
  [Symbol.iterator](): IterableIterator<[K, V]> {
    return this.#entries.entries()
  }

  #move(key: K, value: V): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
  }
}
