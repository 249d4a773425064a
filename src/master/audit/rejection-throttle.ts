/**
 * @module master/audit/rejection-throttle
 * Limits repeated refusals to two lines per key and window: the first one immediately, with count 1, and one at the end
 * of the window with the number of the refusals after it. A client that is refused 1,000 times a second writes two
 * lines a minute.
 */

/** Keys of one window. Further keys share one line, so that many peers cannot fill memory or the trail. */
const MAX_KEYS = 1_000
const OTHERS = ''

export class RejectionThrottle<T> {
  readonly #emit: (entry: T, count: number) => void
  /** The last entry of each key, and how many refusals were not emitted. */
  readonly #keys = new Map<string, { entry: T; count: number }>()

  constructor(emit: (entry: T, count: number) => void) {
    this.#emit = emit
  }

  add(key: string, entry: T): void {
    const kept = this.#keys.has(key) || this.#keys.size < MAX_KEYS ? key : OTHERS
    const known = this.#keys.get(kept)
    if (known === undefined) {
      this.#keys.set(kept, { entry, count: 0 })
      return this.#emit(entry, 1)
    }
    known.entry = entry
    known.count += 1
  }

  /** Ends the window. */
  flush(): void {
    for (const { entry, count } of this.#keys.values()) if (count > 0) this.#emit(entry, count)
    this.#keys.clear()
  }
}
