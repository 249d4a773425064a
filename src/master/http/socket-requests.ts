/**
 * @module master/http/socket-requests
 * Tracks the requests of each connection whose response is not complete. A client may send requests ahead of the
 * responses (pipelining). Node parses and starts all of them, even if the client does not read.
 */
import type { Duplex } from 'node:stream'
import type { RequestContext } from './request-context.ts'

export class SocketRequests {
  readonly #open = new WeakMap<Duplex, Set<RequestContext>>()

  /** To be followed by `delete`. */
  add(context: RequestContext): void {
    const { socket } = context.request
    const open = this.#open.get(socket)
    if (open === undefined) this.#open.set(socket, new Set([context]))
    else open.add(context)
  }

  /** Forgets a request whose response is complete, or whose client has disconnected. */
  delete(context: RequestContext): void {
    this.#open.get(context.request.socket)?.delete(context)
  }

  count(socket: Duplex): number {
    return this.#open.get(socket)?.size ?? 0
  }

  /**
   * Whether a client would take bytes that are written now for a part of a response, or for the response to a request
   * that is still in progress.
   */
  isResponding(socket: Duplex): boolean {
    return [...(this.#open.get(socket) ?? [])].some(
      ({ request, response }) => request.complete || (response.headersSent && !response.writableFinished),
    )
  }
}
