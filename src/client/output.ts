/** @module client/output  The output stream of a type: peek and pop at its old end, tail and follow at its new one. @see D30, D50 */
import { MAX_N, type LengthBody, type OutputEntry, type TailBody } from '../protocol/index.ts'
import { Backoff } from '../runtime/index.ts'
import { apiPath, type Query } from './address.ts'
import type { Reply } from './answer.ts'
import { MasterError } from './master-error.ts'
import type { CallOptions, ClientOptions, Transport } from './transport.ts'

/** How soon a new entry is seen. */
const LOOK_EVERY_MS = 500
const RETRY_CAP_MS = 15_000

interface FollowOptions {
  /** Entries to begin with; 0: only what comes. */
  readonly n?: number | undefined
  readonly signal: AbortSignal
  /** The master did not answer; it is asked again. */
  readonly onLost?: (error: MasterError) => void
}

export class Output {
  readonly #transport: Transport
  readonly #time: Pick<ClientOptions, 'timers' | 'random'>

  constructor(transport: Transport, time: Pick<ClientOptions, 'timers' | 'random'>) {
    this.#transport = transport
    this.#time = time
  }

  length(type: string, options?: CallOptions): Promise<Reply<LengthBody>> {
    return this.#transport.call({ method: 'GET', path: pathOf(type, 'length') }, options)
  }

  /** The oldest entries, not removed. */
  peek(
    type: string,
    { n, ...options }: CallOptions & { readonly n?: number | undefined } = {},
  ): Promise<Reply<OutputEntry[]>> {
    return this.#transport.call({ method: 'GET', path: pathOf(type, 'peek', { n }) }, options)
  }

  /** Removes and answers the oldest entries. Never sent twice: what an answer that was lost held is gone. */
  pop(
    type: string,
    { n, ...options }: CallOptions & { readonly n?: number | undefined } = {},
  ): Promise<Reply<OutputEntry[]>> {
    return this.#transport.call({ method: 'POST', path: pathOf(type, 'pop'), body: { n } }, options)
  }

  /** The newest entries, or those after an id; `gap`: some in between are gone. */
  tail(
    type: string,
    {
      n,
      after,
      ...options
    }: CallOptions & { readonly n?: number | undefined; readonly after?: string | undefined } = {},
  ): Promise<Reply<TailBody>> {
    return this.#transport.call({ method: 'GET', path: pathOf(type, 'tail', { n, after }) }, options)
  }

  /** The newest entries, then what comes, until `signal` aborts. A master that is away is waited for; a refusal is thrown. */
  async *follow(type: string, { n, signal, onLost }: FollowOptions): AsyncGenerator<TailBody> {
    const { timers, random } = this.#time
    const backoff = new Backoff({ baseMs: LOOK_EVERY_MS, capMs: RETRY_CAP_MS, floor: 0.5, random })
    let after: string | undefined
    let skipped = n !== 0
    let count = skipped ? n : 1
    while (!signal.aborted) {
      const tail = await this.tail(type, { n: count, after, signal }).catch((error: unknown) => {
        if (signal.aborted) return null
        if (!(error instanceof MasterError) || !error.retryable) throw error
        onLost?.(error)
        return error
      })
      if (tail === null) return
      if (!(tail instanceof MasterError)) {
        backoff.reset()
        count = MAX_N // From here on all that is new, however much came at once.
        after = tail.body.entries.at(-1)?.id ?? after
        if (skipped && tail.body.entries.length > 0) yield tail.body
        skipped = true
      }
      await timers
        .sleep(tail instanceof MasterError ? Math.max(backoff.nextMs(), tail.retryAfterMs ?? 0) : LOOK_EVERY_MS, signal)
        .catch(() => {}) // Aborted: the loop ends.
    }
  }
}

const pathOf = (type: string, verb: string, query: Query = {}): string =>
  apiPath(['automations', type, 'output', verb], query)
