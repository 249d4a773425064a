/**
 * @module storage/memory/ring
 * Implements a growable ring buffer: both ends in constant time, and access by index. Its capacity is a power of two,
 * doubled when full and halved when less than a quarter is used. An item that is removed from the middle leaves a gap.
 */
const MIN_ROOM = 16

export class Ring<T> {
  #slots: (T | undefined)[] = Array.from({ length: MIN_ROOM })
  #head = 0
  #length = 0

  get length(): number {
    return this.#length
  }

  /** The item at `index` from the front; undefined for a gap, and beyond the end. */
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

  /** Leaves a gap at `index`, which is below the length. */
  clear(index: number): void {
    this.#slots[(this.#head + index) & (this.#slots.length - 1)] = undefined
  }

  /** Removes the gaps, in time proportional to the length. */
  compact(): void {
    for (let left = this.#length; left > 0; left -= 1) {
      const item = this.shift()
      if (item !== undefined) this.push(item)
    }
  }

  #resize(room: number): void {
    const slots: (T | undefined)[] = Array.from({ length: room })
    for (let i = 0; i < this.#length; i += 1) slots[i] = this.at(i)
    this.#slots = slots
    this.#head = 0
  }
}
