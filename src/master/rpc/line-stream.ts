/**
 * @module master/rpc/line-stream
 * Writes the response of an RPC request as lines of JSON (D125). Each call has its line as soon as it has ended, in any
 * order, so an ack in the same request does not wait for a long poll. A reserve with `stream: true` writes a
 * notification for each group of leases before its response:
 *
 *   {"jsonrpc":"2.0","id":1,"result":{…}}                                     the ack is committed
 *   {"jsonrpc":"2.0","method":"tasks.leased","params":{"id":2,"tasks":[…]}}   one or more tasks were leased
 *   {"jsonrpc":"2.0","id":2,"result":{"tasks":[]}}                            the limit is used up, or the time is over
 *
 * The first line is empty, and one more follows every 10 s: a client that gets none within seconds is behind a proxy
 * that buffers responses. A lease belongs to the client as soon as its line was passed to the network. Those of other
 * lines are released when the client disconnects.
 */
import type { Timers } from '../../runtime/index.ts'
import type { LeaseRef } from '../../storage/index.ts'
import type { StreamBody } from '../http/index.ts'

const EMPTY_LINE_EVERY_MS = 10_000
/** Characters of leases that wait for a slow client. Beyond them its stream ends. */
const MAX_BEHIND_CHARS = 4 * 1_048_576

type Write = Parameters<StreamBody['pipe']>[0]

export class LineStream {
  readonly #write: Write
  readonly #unsent = new Set<readonly LeaseRef[]>()
  #behind = 0

  constructor(write: Write) {
    this.#write = write
  }

  /** Leases of lines that were not passed to the network. */
  get unsent(): readonly LeaseRef[] {
    return [...this.#unsent].flat()
  }

  /** @returns a function that stops the empty lines. */
  start(timers: Timers): () => void {
    this.#write('\n')
    return timers.every(EMPTY_LINE_EVERY_MS, () => void this.#write('\n'))
  }

  /**
   * Writes one line.
   * @param text The line without its end.
   * @param leases The leases in it.
   * @returns false if the client reads too slowly.
   */
  line(text: string, leases: readonly LeaseRef[] = []): boolean {
    if (leases.length === 0) this.#write(`${text}\n`)
    else this.#tracked(text, leases)
    return this.#behind <= MAX_BEHIND_CHARS
  }

  #tracked(text: string, leases: readonly LeaseRef[]): void {
    this.#unsent.add(leases)
    this.#behind += text.length
    this.#write(`${text}\n`, () => {
      this.#unsent.delete(leases)
      this.#behind -= text.length
    })
  }
}
