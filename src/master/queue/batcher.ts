/**
 * @module master/queue/batcher
 * Group commit: calls of one operation on one automation type that arrive in one tick, or while an earlier call is on
 * its way, go to the store together.
 *
 *   add ─┐
 *   add ─┼─▶ waiting ──end of the tick, none in flight──▶ run(≤ 500 items) … run(≤ 500 items) ──▶ answers per item
 *   add ─┘
 *
 * Items of one `run` succeed or fail together; each is then answered by itself, a failure as the Error it was, so that
 * a caller whose items were spread over two runs learns which of them are in the store. Order is kept.
 */
import { FleetError } from '../../protocol/index.ts'

/** What one call of the store takes. */
export const RUN_ITEMS = 500
const MAX_WAITING_ITEMS = 10_000
const MAX_WAITING_BYTES = 64 * 1_048_576

interface Call<Item, Answer> {
  readonly items: readonly Item[]
  readonly bytes: number
  readonly resolve: (answers: readonly (Answer | Error)[]) => void
}

export class Batcher<Item, Answer> {
  readonly #run: (items: readonly Item[]) => Promise<readonly Answer[]>
  readonly #weigh: (item: Item) => number
  #waiting: Call<Item, Answer>[] = []
  #waitingItems = 0
  #waitingBytes = 0
  #busy = false

  /** `weigh`: bytes that a waiting item holds, where that matters. */
  constructor(run: (items: readonly Item[]) => Promise<readonly Answer[]>, weigh: (item: Item) => number = () => 0) {
    this.#run = run
    this.#weigh = weigh
  }

  /**
   * One answer per item, in order.
   * @throws FleetError STORAGE_OVERLOADED, when too much waits already; nothing of this call was sent then.
   */
  add(items: readonly Item[]): Promise<readonly (Answer | Error)[]> {
    const bytes = items.reduce((sum, item) => sum + this.#weigh(item), 0)
    const crowded =
      this.#waitingItems + items.length > MAX_WAITING_ITEMS || this.#waitingBytes + bytes > MAX_WAITING_BYTES
    if (crowded && this.#waitingItems > 0) {
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
      if (!this.#busy) void this.#flush()
    })
  }

  async #flush(): Promise<void> {
    this.#busy = true
    await Promise.resolve() // What the same tick adds goes along.
    while (this.#waiting.length > 0) {
      const calls = this.#waiting
      this.#waiting = []
      this.#waitingItems = 0
      this.#waitingBytes = 0
      await this.#send(calls)
    }
    this.#busy = false
  }

  async #send(calls: readonly Call<Item, Answer>[]): Promise<void> {
    const items = calls.length === 1 && calls[0] !== undefined ? calls[0].items : calls.flatMap((call) => call.items)
    const runs: Promise<readonly (Answer | Error)[]>[] = []
    for (let from = 0; from < items.length; from += RUN_ITEMS)
      runs.push(this.#answered(items.slice(from, from + RUN_ITEMS)))
    const answers = (await Promise.all(runs)).flat() as readonly (Answer | Error)[]
    let from = 0
    for (const { items: own, resolve } of calls) {
      resolve(answers.slice(from, from + own.length))
      from += own.length
    }
  }

  async #answered(items: readonly Item[]): Promise<readonly (Answer | Error)[]> {
    try {
      return await this.#run(items)
    } catch (error) {
      const failure = error instanceof Error ? error : new Error(String(error), { cause: error })
      return items.map(() => failure)
    }
  }
}

/** The answers, where a caller can do nothing with half of them. @throws the first Error among them. */
export function allAnswered<Answer>(answers: readonly (Answer | Error)[]): readonly Answer[] {
  const failure = answers.find((answer) => answer instanceof Error)
  if (failure !== undefined) throw failure
  return answers as readonly Answer[]
}
