/** @module runtime/batcher  Batches calls into groups (group commit). */

export interface BatcherOptions<Item, Result> {
  /** Runs one group. @returns one result per item, in order. If it rejects, every item of the group has failed. */
  readonly run: (items: readonly Item[]) => Promise<readonly Result[]>
  /** The largest number of items in a group. */
  readonly maxItems: number
  /** The largest size of a group, in bytes; unlimited if left out. */
  readonly maxBytes?: number
  /** Whether the items of one call may be in several groups. If not, a call above a limit is a group of its own. */
  readonly splitsCalls: boolean
  /** The largest number of groups in flight. */
  readonly maxInFlight: number
  /** Whether a group may be sent while others are in flight. If not, calls wait until all of them have ended. */
  readonly overlaps: boolean
  /** The bytes of an item; 0 if left out. */
  readonly bytesOf?: (item: Item) => number
  /** The limits of the calls that wait. One call is always accepted. */
  readonly waitingLimits: () => { readonly items: number; readonly bytes: number }
  /** Creates the error for a call above the limits. */
  readonly overloaded: () => Error
  /** Called when nothing waits and nothing is in flight. */
  readonly onIdle?: () => void
}

interface WaitingCall<Item, Result> {
  readonly items: readonly Item[]
  readonly bytes: number
  readonly resolve: (results: readonly (Result | Error)[]) => void
  readonly results: (Result | Error)[]
  /** Items that are in a group already, and items that have a result. */
  taken: number
  done: number
}

/** Consecutive items of one call within a group. */
interface Part<Item, Result> {
  readonly call: WaitingCall<Item, Result>
  readonly from: number
  readonly end: number
}

/**
 * Sends calls that arrive in one turn of the event loop, or while earlier groups are in flight, together. There is no
 * timer: a single call is sent at the end of its turn, and the size of a group follows the load. The order is kept.
 *
 *   add ─┐
 *   add ─┼─▶ waiting ──end of the turn, room in flight──▶ run(≤ maxItems, ≤ maxBytes) ──▶ one result per item
 *   add ─┘      └ beyond `waitingLimits`: rejected immediately, not sent
 *
 * Three calls of one item in one turn are one `run` of three items, and each call receives its own result.
 */
export class Batcher<Item, Result> {
  readonly #options: BatcherOptions<Item, Result>
  #waiting: WaitingCall<Item, Result>[] = []
  #items = 0
  #bytes = 0
  #inFlight = 0
  #isScheduled = false

  constructor(options: BatcherOptions<Item, Result>) {
    this.#options = options
  }

  /**
   * Sends the items with the next group.
   * @returns one result per item, in order. An item whose group failed has the error of its group.
   * @throws the error of `overloaded` if too much is waiting. No item of this call was sent.
   */
  add(items: readonly Item[]): Promise<readonly (Result | Error)[]> {
    if (items.length === 0) return Promise.resolve([])
    const { bytesOf, overloaded, waitingLimits } = this.#options
    const bytes = bytesOf === undefined ? 0 : items.reduce((sum, item) => sum + bytesOf(item), 0)
    const limits = waitingLimits()
    if (this.#waiting.length > 0 && (this.#items + items.length > limits.items || this.#bytes + bytes > limits.bytes))
      return Promise.reject(overloaded())
    return new Promise((resolve) => {
      this.#waiting.push({ items, bytes, resolve, results: [], taken: 0, done: 0 })
      this.#items += items.length
      this.#bytes += bytes
      this.#schedule()
    })
  }

  get #maySend(): boolean {
    return this.#options.overlaps ? this.#inFlight < this.#options.maxInFlight : this.#inFlight === 0
  }

  /** Sends at the end of this turn, so that all calls of the turn are included. */
  #schedule(): void {
    if (this.#isScheduled || !this.#maySend) return
    this.#isScheduled = true
    queueMicrotask(() => {
      this.#isScheduled = false
      while (this.#waiting.length > 0 && this.#inFlight < this.#options.maxInFlight) void this.#send(this.#take())
    })
  }

  /** Takes the next group from the waiting calls: one item or one call at least. */
  #take(): readonly Part<Item, Result>[] {
    const { maxItems, maxBytes = Infinity, splitsCalls } = this.#options
    const parts: Part<Item, Result>[] = []
    let [ended, items, bytes] = [0, 0, 0]
    for (const call of this.#waiting) {
      const left = call.items.length - call.taken
      const count = splitsCalls ? Math.min(left, maxItems - items) : left
      if (parts.length > 0 && (count === 0 || items + count > maxItems || bytes + call.bytes > maxBytes)) break
      parts.push({ call, from: call.taken, end: call.taken + count })
      call.taken += count
      items += count
      bytes += call.bytes
      if (count < left) break
      ended += 1
      this.#bytes -= call.bytes
    }
    this.#waiting.splice(0, ended)
    this.#items -= items
    return parts
  }

  async #send(parts: readonly Part<Item, Result>[]): Promise<void> {
    this.#inFlight += 1
    const results = await this.#run(parts.flatMap(({ call, from, end }) => sliceOf(call.items, from, end)))
    let at = 0
    for (const { call, from, end } of parts) {
      for (let i = from; i < end; i += 1, at += 1) call.results[i] = results[at] as Result | Error
      call.done += end - from
      if (call.done === call.items.length) call.resolve(call.results)
    }
    this.#inFlight -= 1
    if (this.#waiting.length > 0) this.#schedule()
    else if (this.#inFlight === 0) this.#options.onIdle?.()
  }

  async #run(items: readonly Item[]): Promise<readonly (Result | Error)[]> {
    try {
      return await this.#options.run(items)
    } catch (error) {
      const failure = error instanceof Error ? error : new Error(String(error), { cause: error })
      return items.map(() => failure)
    }
  }
}

const sliceOf = <Item>(items: readonly Item[], from: number, end: number): readonly Item[] =>
  from === 0 && end === items.length ? items : items.slice(from, end)

/** Returns the results of a caller that cannot use a part of them. @throws the first Error among them. */
export function allSucceeded<Result>(results: readonly (Result | Error)[]): readonly Result[] {
  const failure = results.find((result) => result instanceof Error)
  if (failure !== undefined) throw failure
  return results as readonly Result[]
}
