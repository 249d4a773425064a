/**
 * @module master/rpc/response-budget
 * Limits the size of the response to one request, however many calls it contains. Before a read its largest possible
 * size is reserved, so that not all calls read simultaneously. After the read its actual size is counted. Above 32 MiB
 * no further call reads: it fails with `unavailable`, has had no effect, and can be repeated.
 *
 *   read ──▶ waits while too much is reserved ──▶ reserved ──▶ reads ──▶ counted
 *               └── the response is full ──▶ rejected
 */
import { MAX_RESPONSE_BYTES, RpcError } from '../../protocol/index.ts'

/** Long enough for the response to be sent. */
const RETRY_AFTER_MS = 1_000

export class ResponseBudget {
  #used = 0
  #reserved = 0
  readonly #waiting: (() => void)[] = []

  /**
   * Runs one read within the budget.
   * @param most The highest number of characters that `run` may return. A read larger than the budget runs alone.
   * @throws {RpcError} `unavailable`. `run` was not called.
   */
  async read<T>(most: number, run: () => Promise<T>, charsOf: (value: T) => number): Promise<T> {
    while (this.#used < MAX_RESPONSE_BYTES && this.#reserved > 0 && this.#reserved + most > MAX_RESPONSE_BYTES) {
      await new Promise<void>((resolve) => void this.#waiting.push(resolve))
    }
    if (this.#used >= MAX_RESPONSE_BYTES) throw this.#full()
    this.#reserved += most
    try {
      const value = await run()
      this.#used += charsOf(value)
      return value
    } finally {
      this.#reserved -= most
      for (const resume of this.#waiting.splice(0)) resume()
    }
  }

  #full(): RpcError {
    return new RpcError(
      'unavailable',
      'the response to this batch reached its size limit; send this call again in another request',
      {
        retry_after_ms: RETRY_AFTER_MS,
      },
    )
  }
}
