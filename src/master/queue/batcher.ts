/**
 * @module master/queue/batcher
 * Batches calls (group commit): calls of one operation on one automation type that arrive in one tick, or while an
 * earlier call is in flight, are sent to the store together.
 *
 *   add ─┐
 *   add ─┼─▶ waiting ──end of the tick, none in flight──▶ run(≤ 500 items) … run(≤ 500 items) ──▶ one result per item
 *   add ─┘
 *
 * Items of one `run` succeed or fail together. Each item then has its own result; a failure is returned as an Error. A
 * caller whose items were split into two runs therefore knows which of them were stored. The order is kept.
 */
import { FleetError } from '../../protocol/index.ts'

/** The limit of items in one call of the store. */
export const RUN_ITEMS = 500
const MAX_WAITING_ITEMS = 10_000
const MAX_WAITING_BYTES = 64 * 1_048_576

interface Call<Item, Result> {
  readonly items: readonly Item[]
  readonly bytes: number
  readonly resolve: (results: readonly (Result | Error)[]) => void
}

export class Batcher<Item, Result> {
  readonly #run: (items: readonly Item[]) => Promise<readonly Result[]>
  readonly #weigh: (item: Item) => number
  #waiting: Call<Item, Result>[] = []
  #waitingItems = 0
  #waitingBytes = 0
  #isFlushing = false

  /** @param weigh Returns the bytes of a waiting item, if memory matters. */
  constructor(run: (items: readonly Item[]) => Promise<readonly Result[]>, weigh: (item: Item) => number = () => 0) {
    this.#run = run
    this.#weigh = weigh
  }

  /**
   * Sends the items with the next batch.
   * @returns one result per item, in order.
   * @throws {FleetError} STORAGE_OVERLOADED if too many items are waiting. No item of this call was sent.
   */
  add(items: readonly Item[]): Promise<readonly (Result | Error)[]> {
    const bytes = items.reduce((sum, item) => sum + this.#weigh(item), 0)
    const isFull =
      this.#waitingItems + items.length > MAX_WAITING_ITEMS || this.#waitingBytes + bytes > MAX_WAITING_BYTES
    if (isFull && this.#waitingItems > 0) {
      return Promise.reject(
        new FleetError('STORAGE_OVERLOADED', 'too many changes are waiting for the store; try again', {
          retryAfterSeconds: 1,
          outcome: 'not_sent',
        }),
      )
    }
    this.#waitingItems += items.length
    this.#waitingBytes += bytes
    return new Promise((resolve) => {
      this.#waiting.push({ items, bytes, resolve })
      if (!this.#isFlushing) void this.#flush()
    })
  }

  async #flush(): Promise<void> {
    this.#isFlushing = true
    await Promise.resolve() // Includes everything that is added in the same tick.
    while (this.#waiting.length > 0) {
      const calls = this.#waiting
      this.#waiting = []
      this.#waitingItems = 0
      this.#waitingBytes = 0
      await this.#send(calls)
    }
    this.#isFlushing = false
  }

  async #send(calls: readonly Call<Item, Result>[]): Promise<void> {
    const items = calls.length === 1 && calls[0] !== undefined ? calls[0].items : calls.flatMap((call) => call.items)
    const runs: Promise<readonly (Result | Error)[]>[] = []
    for (let from = 0; from < items.length; from += RUN_ITEMS)
      runs.push(this.#runTogether(items.slice(from, from + RUN_ITEMS)))
    const results = (await Promise.all(runs)).flat() as readonly (Result | Error)[]
    let from = 0
    for (const { items: own, resolve } of calls) {
      resolve(results.slice(from, from + own.length))
      from += own.length
    }
  }

  async #runTogether(items: readonly Item[]): Promise<readonly (Result | Error)[]> {
    try {
      return await this.#run(items)
    } catch (error) {
      const failure = error instanceof Error ? error : new Error(String(error), { cause: error })
      return items.map(() => failure)
    }
  }
}

/** Returns the results of a caller that cannot use a part of them. @throws the first Error among them. */
export function allSucceeded<Result>(results: readonly (Result | Error)[]): readonly Result[] {
  const failure = results.find((result) => result instanceof Error)
  if (failure !== undefined) throw failure
  return results as readonly Result[]
}
