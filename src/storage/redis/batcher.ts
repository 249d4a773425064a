/**
 * @module storage/redis/batcher
 * Batches calls (group commit): calls of one operation with the same parameters (type, window, policy) are sent as one
 * script if they arrive in one turn of the event loop, or while four earlier groups are in flight. There is no timer:
 * the size of a group follows the load.
 *
 *   call ──▶ waiting ──end of the turn, fewer than 4 in flight──▶ run(≤ 128 items, about 1 MiB) ──▶ one result per item
 *              └ beyond 10,000 items or 64 MiB (2,000 or 8 MiB while the store is unavailable): rejected immediately
 *
 * A group fails as a whole, so only operations may be batched that never fail because of one item.
 */
import { FleetError } from '../../protocol/index.ts'

/**
 * Measured: with two groups of 500 this process and the store alternate, a third slower. Smaller groups cost more
 * calls.
 */
const MAX_IN_FLIGHT = 4
export const GROUP_ITEMS = 128
export const GROUP_BYTES = 1_048_576
const WAITING = { items: 10_000, bytes: 64 * 1_048_576 }
const WAITING_WHILE_UNAVAILABLE = { items: 2_000, bytes: 8 * 1_048_576 }

interface Call<Item, Answer> {
  readonly items: readonly Item[]
  readonly bytes: number
  resolve(results: readonly Answer[]): void
  reject(error: unknown): void
}

interface BatcherOptions<Item, Answer> {
  readonly run: (items: readonly Item[]) => Promise<readonly Answer[]>
  readonly bytesOf: (item: Item) => number
  readonly isUnavailable: () => boolean
  /** Called when nothing waits and nothing is in flight. */
  readonly onIdle: () => void
}

class Batcher<Item, Answer> {
  readonly #options: BatcherOptions<Item, Answer>
  #waiting: Call<Item, Answer>[] = []
  #items = 0
  #bytes = 0
  #underWay = 0
  #scheduled = false

  constructor(options: BatcherOptions<Item, Answer>) {
    this.#options = options
  }

  add(items: readonly Item[]): Promise<readonly Answer[]> {
    const bytes = items.reduce((sum, item) => sum + this.#options.bytesOf(item), 0)
    const bound = this.#options.isUnavailable() ? WAITING_WHILE_UNAVAILABLE : WAITING
    if (this.#waiting.length > 0 && (this.#items + items.length > bound.items || this.#bytes + bytes > bound.bytes)) {
      return Promise.reject(
        new FleetError('STORAGE_OVERLOADED', 'too many changes are waiting for the store; try again', {
          retryAfterSeconds: 1,
          outcome: 'not_sent',
        }),
      )
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ items, bytes, resolve, reject })
      this.#items += items.length
      this.#bytes += bytes
      this.#schedule()
    })
  }

  #schedule(): void {
    if (this.#scheduled || this.#underWay >= MAX_IN_FLIGHT) return
    this.#scheduled = true
    queueMicrotask(() => {
      this.#scheduled = false
      while (this.#waiting.length > 0 && this.#underWay < MAX_IN_FLIGHT) void this.#send(this.#take())
    })
  }

  async #send(calls: readonly Call<Item, Answer>[]): Promise<void> {
    this.#underWay += 1
    try {
      const [only] = calls
      const results = await this.#options.run(
        calls.length === 1 && only !== undefined ? only.items : calls.flatMap(({ items }) => items),
      )
      let from = 0
      for (const call of calls) call.resolve(results.slice(from, (from += call.items.length)))
    } catch (error) {
      for (const call of calls) call.reject(error)
    }
    this.#underWay -= 1
    if (this.#waiting.length > 0) this.#schedule()
    else if (this.#underWay === 0) this.#options.onIdle()
  }

  /** The next group: one call at least. */
  #take(): readonly Call<Item, Answer>[] {
    let [length, items, bytes] = [0, 0, 0]
    for (const call of this.#waiting) {
      if (length > 0 && (items + call.items.length > GROUP_ITEMS || bytes + call.bytes > GROUP_BYTES)) break
      length += 1
      items += call.items.length
      bytes += call.bytes
    }
    this.#items -= items
    this.#bytes -= bytes
    return this.#waiting.splice(0, length)
  }
}

/** Batchers by name. One exists only while it has calls. */
export class Batchers {
  readonly #isUnavailable: () => boolean
  readonly #lanes = new Map<string, { add(items: readonly never[]): Promise<readonly unknown[]> }>()

  constructor(isUnavailable: () => boolean) {
    this.#isUnavailable = isUnavailable
  }

  /** @param name The operation and all its parameters: calls of one name may differ only in their items. */
  add<Item, Answer>(
    name: string,
    items: readonly Item[],
    bytesOf: (item: Item) => number,
    run: (items: readonly Item[]) => Promise<readonly Answer[]>,
  ): Promise<readonly Answer[]> {
    let lane = this.#lanes.get(name) as Batcher<Item, Answer> | undefined
    if (lane === undefined) {
      lane = new Batcher({
        run,
        bytesOf,
        isUnavailable: this.#isUnavailable,
        onIdle: () => void this.#lanes.delete(name),
      })
      this.#lanes.set(name, lane)
    }
    return lane.add(items)
  }
}
