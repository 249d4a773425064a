/**
 * @module master/http/request-context
 * One request and its answer, from arrival until the last byte left or the client went away.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { MAX_BODY_BYTES } from '../../protocol/index.ts'
import { announcesBody } from './body.ts'
import { originForm } from './request-head.ts'
import type { Principal } from './route.ts'

/**
 * An unread body up to this is read and thrown away, so that the connection can go on; a larger one ends it. Well above what
 * a body may have by default: a proxy whose connection ends while it still sends answers 502 in the place of our 413.
 */
const DISCARD_BYTES = 2 * MAX_BODY_BYTES

export class RequestContext {
  readonly id: string
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly startedMs: number
  /** Set by admission; null on routes that need no token. */
  principal: Principal | null = null
  /** Whether the outcome of its call stands in the audit trail, or need not. */
  isAudited = false
  /** Of the body, as far as it was read. */
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

  /** Made at its first use: most handlers never ask. */
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

  /** The path, without the query: a token may stand there. */
  get path(): string {
    const end = this.#target.indexOf('?')
    return end === -1 ? this.#target : this.#target.slice(0, end)
  }

  get search(): string {
    return this.#target.slice(this.path.length + 1)
  }

  /** Whether the rest of an unread body is not worth waiting for: the connection ends with this answer. */
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
