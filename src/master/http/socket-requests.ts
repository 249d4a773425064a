/**
 * @module master/http/socket-requests
 * The requests of each connection whose response is not complete. A client may send requests ahead of the responses
 * (pipelining); Node parses and starts all of them, however little the client reads.
 */
import type { Duplex } from 'node:stream'
import type { RequestContext } from './request-context.ts'

export class SocketRequests {
  readonly #open = new WeakMap<Duplex, Set<RequestContext>>()

  add(context: RequestContext): void {
    const { socket } = context.request
    const open = this.#open.get(socket) ?? new Set()
    this.#open.set(socket, open.add(context))
    context.response.once('close', () => open.delete(context))
  }

  count(socket: Duplex): number {
    return this.#open.get(socket)?.size ?? 0
  }

  /**
   * Whether bytes written to the socket now would be taken for a part of a response, or for the response to a request
   * that is still in work.
   */
  isAnswering(socket: Duplex): boolean {
    return [...(this.#open.get(socket) ?? [])].some(
      ({ request, response }) => request.complete || (response.headersSent && !response.writableFinished),
    )
  }
}
