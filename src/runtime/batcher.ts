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
  /** Whether the call resolves although a group failed, with an Error for each of its items. Otherwise it rejects. */
  readonly canBePartial: boolean
  readonly resolve: (results: readonly (Result | Error)[]) => void
  readonly reject: (failure: Error) => void
  /** Items that are in a group already. */
  taken: number
  /** The results so far, if the call was split over several groups. */
  results: (Result | Error)[] | null
  /** Items that have a result. */
  done: number
  /** The first failure of a group. */
  failure: Error | null
}

type GroupOutcome<Result> =
  | { readonly kind: 'succeeded'; readonly results: readonly Result[] }
  | { readonly kind: 'failed'; readonly results: readonly Error[]; readonly failure: Error }

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
   * @returns one result per item, in order.
   * @throws the error of `overloaded` if too much is waiting: no item of this call was sent. Otherwise the error of a
   *   group; items of this call that were in another group may have succeeded.
   */
  add(items: readonly Item[]): Promise<readonly Result[]> {
    return this.#enqueue(items, false) as Promise<readonly Result[]>
  }

  /**
   * Sends the items with the next group, for a caller that can use partial results.
   * @returns one result per item, in order. An item whose group failed has the error of its group.
   * @throws the error of `overloaded` if too much is waiting: no item of this call was sent.
   */
  addEach(items: readonly Item[]): Promise<readonly (Result | Error)[]> {
    return this.#enqueue(items, true)
  }

  #enqueue(items: readonly Item[], canBePartial: boolean): Promise<readonly (Result | Error)[]> {
    if (items.length === 0) return Promise.resolve([])
    const { bytesOf, overloaded, waitingLimits } = this.#options
    const bytes = bytesOf === undefined ? 0 : items.reduce((sum, item) => sum + bytesOf(item), 0)
    if (this.#waiting.length > 0) {
      const limits = waitingLimits()
      if (this.#items + items.length > limits.items || this.#bytes + bytes > limits.bytes)
        return Promise.reject(overloaded())
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({
        items,
        bytes,
        canBePartial,
        resolve,
        reject,
        taken: 0,
        results: null,
        done: 0,
        failure: null,
      })
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
    const outcome = await this.#run(itemsOf(parts))
    const failure = outcome.kind === 'failed' ? outcome.failure : null
    let at = 0
    for (const part of parts) {
      const next = at + part.end - part.from
      settle(part, sliceOf<Result | Error>(outcome.results, at, next), failure)
      at = next
    }
    this.#inFlight -= 1
    if (this.#waiting.length > 0) this.#schedule()
    else if (this.#inFlight === 0) this.#options.onIdle?.()
  }

  async #run(items: readonly Item[]): Promise<GroupOutcome<Result>> {
    try {
      return { kind: 'succeeded', results: await this.#options.run(items) }
    } catch (error) {
      const failure = error instanceof Error ? error : new Error(String(error), { cause: error })
      return { kind: 'failed', results: items.map(() => failure), failure }
    }
  }
}

const sliceOf = <Value>(values: readonly Value[], from: number, end: number): readonly Value[] =>
  from === 0 && end === values.length ? values : values.slice(from, end)

function itemsOf<Item, Result>(parts: readonly Part<Item, Result>[]): readonly Item[] {
  const [only] = parts
  if (only !== undefined && parts.length === 1) return sliceOf(only.call.items, only.from, only.end)
  return parts.flatMap(({ call, from, end }) => sliceOf(call.items, from, end))
}

/** Records the results of one part of a call, and ends the call with its last part. Parts may end in any order. */
function settle<Item, Result>(
  { call, from, end }: Part<Item, Result>,
  partResults: readonly (Result | Error)[],
  failure: Error | null,
): void {
  call.failure ??= failure
  if (end - from === call.items.length) return finish(call, partResults)
  const results = (call.results ??= [])
  partResults.forEach((result, i) => (results[from + i] = result))
  call.done += partResults.length
  if (call.done === call.items.length) finish(call, results)
}

function finish<Item, Result>(call: WaitingCall<Item, Result>, results: readonly (Result | Error)[]): void {
  if (call.failure === null || call.canBePartial) call.resolve(results)
  else call.reject(call.failure)
}

/** Returns the results if none of them is an Error. @throws the first Error otherwise. */
export function allSucceeded<Result>(results: readonly (Result | Error)[]): readonly Result[] {
  const failure = results.find((result) => result instanceof Error)
  if (failure !== undefined) throw failure
  return results as readonly Result[]
}
