/**
 * @module client/output
 * Reads the output stream of an automation type: peek and pop its oldest entries, tail and follow its newest.
 * @see D30, D50
 */
import type { LengthBody, OutputEntry, TailBody } from '../protocol/index.ts'
import { MAX_N } from '../protocol/plain.ts'
import { Backoff, retryAfterDelayMs, sleep } from '../runtime/backoff/index.ts'
import type { ApiCaller, CallerOptions, RequestOptions } from './api-caller.ts'
import { apiPath, type Query } from './address.ts'
import type { MasterResponse } from './response.ts'
import { MasterError } from './master-error.ts'

/** Interval of polling for new entries. */
const LOOK_EVERY_MS = 500
const RETRY_CAP_MS = 15_000

interface FollowOptions {
  /** Number of existing entries to start with; 0 yields only new ones. Not used with `after`. */
  readonly n?: number | undefined
  /** ID of the last entry of an earlier call, to continue after it. */
  readonly after?: string | undefined
  readonly signal: AbortSignal
  /** Called when a request failed and will be retried. */
  readonly onLost?: (error: MasterError) => void
}

/** Reads the output streams. Part of the client. */
export class Output {
  readonly #caller: ApiCaller
  readonly #time: Pick<CallerOptions, 'timers' | 'random'>

  /**
   * Creates this part of a client.
   * @param caller Sends the requests.
   * @param time Waits between requests of `follow`.
   */
  constructor(caller: ApiCaller, time: Pick<CallerOptions, 'timers' | 'random'>) {
    this.#caller = caller
    this.#time = time
  }

  /** Returns the number of entries in the stream. */
  length(type: string, options?: RequestOptions): Promise<MasterResponse<LengthBody>> {
    return this.#caller.call({ method: 'GET', path: pathOf(type, 'length') }, options)
  }

  /**
   * Returns the oldest entries without removing them; empty for an empty stream.
   * @param options `n`: at most this many entries, 1 to 10,000; 10 if omitted.
   */
  peek(
    type: string,
    { n, ...options }: RequestOptions & { readonly n?: number | undefined } = {},
  ): Promise<MasterResponse<OutputEntry[]>> {
    return this.#caller.call({ method: 'GET', path: pathOf(type, 'peek', { n }) }, options)
  }

  /**
   * Removes the oldest entries. Never repeated: the entries of a lost response are lost.
   * @param options `n`: at most this many entries, 1 to 10,000; 10 if omitted.
   * @returns the removed entries, oldest first; empty for an empty stream.
   */
  pop(
    type: string,
    { n, ...options }: RequestOptions & { readonly n?: number | undefined } = {},
  ): Promise<MasterResponse<OutputEntry[]>> {
    return this.#caller.call({ method: 'POST', path: pathOf(type, 'pop'), body: { n } }, options)
  }

  /**
   * Returns the newest entries, or those after an ID, oldest first. `gap`: entries in between were removed.
   * @param options `n`: at most this many entries, 1 to 10,000; 100 if omitted. `after`: an ID; the newest entries if
   *   omitted.
   */
  tail(
    type: string,
    {
      n,
      after,
      ...options
    }: RequestOptions & { readonly n?: number | undefined; readonly after?: string | undefined } = {},
  ): Promise<MasterResponse<TailBody>> {
    return this.#caller.call({ method: 'GET', path: pathOf(type, 'tail', { n, after }) }, options)
  }

  /**
   * Yields the newest entries, then new ones, until `signal` aborts. Retries while the master is unavailable.
   * @param options `n`: the number of existing entries to start with; 0 yields only new ones. `after`: continues after
   *   this ID. `signal`: stops it.
   *   `onLost`: called when a request failed and will be retried.
   * @throws {MasterError} when the master rejects the request.
   */
  async *follow(type: string, { n, after: start, signal, onLost }: FollowOptions): AsyncGenerator<TailBody> {
    const { timers, random } = this.#time
    const backoff = new Backoff({ baseMs: LOOK_EVERY_MS, capMs: RETRY_CAP_MS, floor: 0.5, random })
    let after = start
    let isSkipped = n !== 0 || after !== undefined
    let count = isSkipped ? n : 1
    if (after !== undefined) count = MAX_N
    while (!signal.aborted) {
      let waitMs = LOOK_EVERY_MS
      try {
        const { body } = await this.tail(type, { n: count, after, signal })
        backoff.reset()
        count = MAX_N // From now on all new entries, up to the maximum of a request.
        after = body.entries.at(-1)?.id ?? after
        if (isSkipped && body.entries.length > 0) yield body
        isSkipped = true
      } catch (error) {
        if (signal.aborted) return
        if (!(error instanceof MasterError) || !error.isRetryable) throw error
        onLost?.(error)
        waitMs = Math.max(backoff.nextMs(), retryAfterDelayMs(error.retryAfterMs ?? 0, random))
      }
      await sleep(timers, waitMs, signal)
    }
  }
}

const pathOf = (type: string, verb: string, query: Query = {}): string =>
  apiPath(['automations', type, 'output', verb], query)
