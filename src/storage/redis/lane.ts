/**
 * @module storage/redis/lane
 * Group commit: calls of one operation with the same terms (type, window, policy) that arrive in one turn, or while four
 * earlier groups are on their way, travel as one script. There is no timer: load sets the size of a group.
 *
 *   call ──▶ waiting ──end of the turn, fewer than 4 under way──▶ run(≤ 128 items, about 1 MiB) ──▶ answers per item
 *              └ beyond 10,000 items or 64 MiB (2,000 or 8 MiB while the store is away): refused at once
 *
 * A group fails as one, so only operations belong here that fail for the store's sake and never for an item's.
 */
import { FleetError } from '../../protocol/index.ts'

/** Measured: with two groups of 500 this process and the store take turns, a third slower; smaller groups than these cost calls. */
const UNDER_WAY = 4
export const GROUP_ITEMS = 128
export const GROUP_BYTES = 1_048_576
const WAITING = { items: 10_000, bytes: 64 * 1_048_576 }
const WAITING_AWAY = { items: 2_000, bytes: 8 * 1_048_576 }

interface Call<Item, Answer> {
  readonly items: readonly Item[]
  readonly bytes: number
  resolve(answers: readonly Answer[]): void
  reject(error: unknown): void
}

interface LaneOptions<Item, Answer> {
  readonly run: (items: readonly Item[]) => Promise<readonly Answer[]>
  readonly bytesOf: (item: Item) => number
  readonly isAway: () => boolean
  /** Nothing waits and nothing is under way. */
  readonly onIdle: () => void
}

class Lane<Item, Answer> {
  readonly #options: LaneOptions<Item, Answer>
  #waiting: Call<Item, Answer>[] = []
  #items = 0
  #bytes = 0
  #underWay = 0
  #scheduled = false

  constructor(options: LaneOptions<Item, Answer>) {
    this.#options = options
  }

  add(items: readonly Item[]): Promise<readonly Answer[]> {
    const bytes = items.reduce((sum, item) => sum + this.#options.bytesOf(item), 0)
    const bound = this.#options.isAway() ? WAITING_AWAY : WAITING
    if (this.#waiting.length > 0 && (this.#items + items.length > bound.items || this.#bytes + bytes > bound.bytes)) {
      return Promise.reject(
        new FleetError('STORAGE_OVERLOADED', 'too many changes wait for the store; try again', {
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
    if (this.#scheduled || this.#underWay >= UNDER_WAY) return
    this.#scheduled = true
    queueMicrotask(() => {
      this.#scheduled = false
      while (this.#waiting.length > 0 && this.#underWay < UNDER_WAY) void this.#send(this.#take())
    })
  }

  async #send(calls: readonly Call<Item, Answer>[]): Promise<void> {
    this.#underWay += 1
    try {
      const [only] = calls
      const answers = await this.#options.run(
        calls.length === 1 && only !== undefined ? only.items : calls.flatMap(({ items }) => items),
      )
      let from = 0
      for (const call of calls) call.resolve(answers.slice(from, (from += call.items.length)))
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

/** Lanes by name, for as long as something is on them. */
export class Lanes {
  readonly #isAway: () => boolean
  readonly #lanes = new Map<string, { add(items: readonly never[]): Promise<readonly unknown[]> }>()

  constructor(isAway: () => boolean) {
    this.#isAway = isAway
  }

  /** @param name the operation and all its terms: calls of one name must be alike but for their items. */
  add<Item, Answer>(
    name: string,
    items: readonly Item[],
    bytesOf: (item: Item) => number,
    run: (items: readonly Item[]) => Promise<readonly Answer[]>,
  ): Promise<readonly Answer[]> {
    let lane = this.#lanes.get(name) as Lane<Item, Answer> | undefined
    if (lane === undefined) {
      lane = new Lane({ run, bytesOf, isAway: this.#isAway, onIdle: () => void this.#lanes.delete(name) })
      this.#lanes.set(name, lane)
    }
    return lane.add(items)
  }
}
