/**
 * @module master/http/request-context
 * Holds the state of one request, from its arrival until the response was sent or the client disconnected.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { MAX_BODY_BYTES } from '../../protocol/index.ts'
import { announcesBody } from './body.ts'
import { originForm } from './request-head.ts'
import type { Principal } from '../auth/index.ts'

/**
 * An unread body up to this size is read and discarded, so that the connection stays usable. A larger one closes the
 * connection. The limit is well above the default size of a body: if a connection closes while a proxy still sends, the
 * proxy responds with 502 instead of the master's 413.
 */
const DISCARD_BYTES = 2 * MAX_BODY_BYTES

export class RequestContext {
  readonly id: string
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly startedMs: number
  /** Set by admission; null on routes that need no token. */
  principal: Principal | null = null
  /** Whether the audit line of this request was written, or is not needed. */
  isAudited = false
  /** Whether the whole response was handed over; it is written at the end of the turn of the event loop. */
  isAnswered = false
  /** Bytes of the body that were read. */
  bodyBytes = 0
  readonly #target: string
  #abort: AbortController | null = null
  #reason: Error | null = null

  constructor(id: string, request: IncomingMessage, response: ServerResponse, startedMs: number) {
    this.id = id
    this.request = request
    this.response = response
    this.startedMs = startedMs
    this.#target = originForm(request.url ?? '/')
  }

  /** Created at its first use, because most handlers do not need it. */
  get signal(): AbortSignal {
    if (this.#abort === null) {
      this.#abort = new AbortController()
      if (this.#reason !== null) this.#abort.abort(this.#reason)
    }
    return this.#abort.signal
  }

  abort(reason: Error): void {
    this.#reason ??= reason
    this.#abort?.abort(reason)
  }

  /** The path without the query, which may contain a token. */
  get path(): string {
    const end = this.#target.indexOf('?')
    return end === -1 ? this.#target : this.#target.slice(0, end)
  }

  get search(): string {
    return this.#target.slice(this.path.length + 1)
  }

  /** Whether the connection closes with this response, because too much of the body is unread. */
  get mustClose(): boolean {
    const { request } = this
    if (request.readableEnded || !announcesBody(request)) return false
    return (
      request.headers['transfer-encoding'] !== undefined ||
      request.headers.expect !== undefined ||
      Number(request.headers['content-length']) > DISCARD_BYTES
    )
  }
}
