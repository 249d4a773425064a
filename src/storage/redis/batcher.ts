/**
 * @module storage/redis/batcher
 * Batches calls (group commit): calls of one operation with the same parameters (type, window, policy) are sent as one
 * script if they arrive in one turn of the event loop, or while four earlier groups are in flight.
 *
 *   call ──▶ waiting ──end of the turn, fewer than 4 in flight──▶ run(≤ 128 items, about 1 MiB) ──▶ one result per item
 *              └ beyond 10,000 items or 64 MiB (2,000 or 8 MiB while the store is unavailable): rejected immediately
 *
 * A group fails as a whole, so only operations may be batched that never fail because of one item. A call is never
 * split: it is stored completely or not at all.
 */
import { Batcher } from '../../runtime/index.ts'
import { storeOverloaded } from '../index.ts'

/**
 * Measured: with two groups of 500 this process and the store alternate, a third slower. Smaller groups cost more
 * calls.
 */
const MAX_IN_FLIGHT = 4
export const GROUP_ITEMS = 128
export const GROUP_BYTES = 1_048_576
const WAITING = { items: 10_000, bytes: 64 * 1_048_576 }
const WAITING_WHILE_UNAVAILABLE = { items: 2_000, bytes: 8 * 1_048_576 }

/** Batchers by name. One exists only while it has calls. */
export class Batchers {
  readonly #isUnavailable: () => boolean
  readonly #byName = new Map<string, unknown>()

  constructor(isUnavailable: () => boolean) {
    this.#isUnavailable = isUnavailable
  }

  /**
   * @param name The operation and all its parameters: calls of one name may differ only in their items.
   * @throws {FleetError} STORAGE_OVERLOADED if too many items are waiting, or the error of the group.
   */
  add<Item, Result>(
    name: string,
    items: readonly Item[],
    bytesOf: (item: Item) => number,
    run: (items: readonly Item[]) => Promise<readonly Result[]>,
  ): Promise<readonly Result[]> {
    if (items.length === 0) return Promise.resolve([])
    const known = this.#byName.get(name) as Batcher<Item, Result> | undefined
    const batcher = known ?? this.#create(name, bytesOf, run)
    return batcher.add(items)
  }

  #create<Item, Result>(
    name: string,
    bytesOf: (item: Item) => number,
    run: (items: readonly Item[]) => Promise<readonly Result[]>,
  ): Batcher<Item, Result> {
    const batcher = new Batcher<Item, Result>({
      run,
      bytesOf,
      maxItems: GROUP_ITEMS,
      maxBytes: GROUP_BYTES,
      splitsCalls: false,
      maxInFlight: MAX_IN_FLIGHT,
      overlaps: true,
      waitingLimits: () => (this.#isUnavailable() ? WAITING_WHILE_UNAVAILABLE : WAITING),
      overloaded: storeOverloaded,
      onIdle: () => void this.#byName.delete(name),
    })
    this.#byName.set(name, batcher)
    return batcher
  }
}
