/**
 * @module storage/memory/ring
 * Implements a growable ring buffer: both ends in constant time, and access by index. Its capacity is a power of two,
 * doubled when full and halved when less than a quarter is used.
 */
const MIN_ROOM = 16

export class Ring<T> {
  #slots: (T | undefined)[] = Array.from({ length: MIN_ROOM })
  #head = 0
  #length = 0

  get length(): number {
    return this.#length
  }

  /** The item at `index` from the front; undefined beyond the end. */
  at(index: number): T | undefined {
    return index < this.#length ? this.#slots[(this.#head + index) & (this.#slots.length - 1)] : undefined
  }

  push(item: T): void {
    if (this.#length === this.#slots.length) this.#resize(this.#length * 2)
    this.#slots[(this.#head + this.#length) & (this.#slots.length - 1)] = item
    this.#length += 1
  }

  unshift(item: T): void {
    if (this.#length === this.#slots.length) this.#resize(this.#length * 2)
    this.#head = (this.#head - 1) & (this.#slots.length - 1)
    this.#slots[this.#head] = item
    this.#length += 1
  }

  shift(): T | undefined {
    if (this.#length === 0) return undefined
    const item = this.#slots[this.#head]
    this.#slots[this.#head] = undefined
    this.#head = (this.#head + 1) & (this.#slots.length - 1)
    this.#length -= 1
    if (this.#length * 4 < this.#slots.length && this.#slots.length > MIN_ROOM) this.#resize(this.#slots.length / 2)
    return item
  }

  /** Removes the items that `isKept` rejects, in time proportional to the length. */
  retain(isKept: (item: T) => boolean): void {
    for (let left = this.#length; left > 0; left -= 1) {
      const item = this.shift()
      if (item !== undefined && isKept(item)) this.push(item)
    }
  }

  #resize(room: number): void {
    const slots: (T | undefined)[] = Array.from({ length: room })
    for (let i = 0; i < this.#length; i += 1) slots[i] = this.at(i)
    this.#slots = slots
    this.#head = 0
  }
}
