/**
 * @module master/rpc/response-budget
 * How large the answer to one request may become, whatever number of calls it carries. What is about to be read is set
 * aside at its largest, so that not everything is read at once; what was read is counted at its size. Above 32 MiB no
 * further call reads: it is answered `unavailable`, has done nothing, and may be sent again.
 *
 *   read ──▶ waits while others have set aside too much ──▶ set aside ──▶ reads ──▶ counted
 *               └── the answer is full ──▶ refused
 */
import { MAX_ANSWER_BYTES, RpcError } from '../../protocol/index.ts'

/** Long enough for the answer to have left. */
const RETRY_AFTER_MS = 1_000

export class ResponseBudget {
  #used = 0
  #setAside = 0
  readonly #waiting: (() => void)[] = []

  /**
   * @param most characters that `run` may bring at most; one that is larger than all the room goes alone.
   * @throws RpcError `unavailable`, and `run` was not called.
   */
  async read<T>(most: number, run: () => Promise<T>, charsOf: (value: T) => number): Promise<T> {
    while (this.#used < MAX_ANSWER_BYTES && this.#setAside > 0 && this.#setAside + most > MAX_ANSWER_BYTES) {
      await new Promise<void>((resolve) => void this.#waiting.push(resolve))
    }
    if (this.#used >= MAX_ANSWER_BYTES) throw this.#full()
    this.#setAside += most
    try {
      const value = await run()
      this.#used += charsOf(value)
      return value
    } finally {
      this.#setAside -= most
      for (const goOn of this.#waiting.splice(0)) goOn()
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
