/** @module operator/kube/heap  Implements a binary heap: the smallest item first; equal items in order of insertion. */
export class Heap<T> {
  readonly #items: { readonly rank: number; readonly order: number; readonly value: T }[] = []
  #order = 0

  get size(): number {
    return this.#items.length
  }

  add(rank: number, value: T): void {
    const items = this.#items
    items.push({ rank, order: ++this.#order, value })
    let at = items.length - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!this.#isBefore(at, parent)) return
      this.#swap(at, parent)
      at = parent
    }
  }

  peek(): { readonly rank: number; readonly value: T } | undefined {
    return this.#items[0]
  }

  pop(): T | undefined {
    const items = this.#items
    const first = items[0]
    const last = items.pop()
    if (first === undefined || last === undefined || items.length === 0) return first?.value
    items[0] = last
    this.#sink()
    return first.value
  }

  #sink(): void {
    let at = 0
    for (;;) {
      let least = at
      for (const child of [2 * at + 1, 2 * at + 2])
        if (child < this.#items.length && this.#isBefore(child, least)) least = child
      if (least === at) return
      this.#swap(at, least)
      at = least
    }
  }

  #isBefore(a: number, b: number): boolean {
    const [left, right] = [this.#items[a], this.#items[b]]
    if (left === undefined || right === undefined) return false
    return left.rank < right.rank || (left.rank === right.rank && left.order < right.order)
  }

  #swap(a: number, b: number): void {
    const [left, right] = [this.#items[a], this.#items[b]]
    if (left === undefined || right === undefined) return
    this.#items[a] = right
    this.#items[b] = left
  }
}
