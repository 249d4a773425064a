/**
 * @module master/http/response-writer
 * Writes responses. Each has the id of its request (D59), is not stored by caches and not sniffed for another content
 * type. Those under /api/v1 name the epoch of the store (D47). Errors have the single field `detail` (D14). Reads have
 * an entity tag and are compressed for clients that accept it (D154).
 *
 * The responses of one turn of the event loop are written together at its end. The first one wakes the client if it is
 * idle, which the system charges to the writer and which can cost more than the request did; the others find it awake.
 * Events are written with them, so that they do not arrive long before the response to the call that caused them.
 */
import { pipeline } from 'node:stream/promises'
import { API_PREFIX, codeForClient, detailForClient, ERRORS, FleetError } from '../../protocol/index.ts'
import { afterTurn, type Log } from '../../runtime/index.ts'
import { chooseCoding, compress, createCompressor, type ContentCoding } from './content-coding.ts'
import type { CorsPolicy } from './cors.ts'
import { matchesTag, tagOf } from './entity-tag.ts'
import type { RequestContext } from './request-context.ts'
import { JsonChunks, RawJson, type Delivery, type HandlerResult, type StreamBody } from './route.ts'

const JSON_TYPE = 'application/json; charset=utf-8'
/** Smaller bodies fit into one packet, so a compressed one would not arrive earlier. */
const MIN_COMPRESSED_BYTES = 1_024
/** Longer bodies have no entity tag: their hash would take the event loop several milliseconds. */
const MAX_TAGGED_BYTES = 2 * 1_048_576
/** Further responses are sent as they are, so that compressions do not delay what else uses the thread pool. */
const MAX_CONCURRENT_COMPRESSIONS = 16
type Write = Parameters<StreamBody['pipe']>[0]
type Headers = Record<string, string | number>

export interface ResponseWriterDeps {
  readonly epoch: () => string
  readonly log: Log
  readonly cors: CorsPolicy
  /** Whether the master is stopping: connections are then closed after their response. */
  readonly stopping: () => boolean
  /** Called with the status of every refusal. */
  readonly onRefusal: (status: number) => void
}

export class ResponseWriter {
  readonly #deps: ResponseWriterDeps
  /** Each writes a response, or a part of one, at the end of this turn. */
  #due: (() => void)[] = []
  #compressions = 0

  constructor(deps: ResponseWriterDeps) {
    this.#deps = deps
  }

  /**
   * Sends the result of a handler. Resolves when a stream has ended.
   * @param delivery How a body of JSON is sent. By default as it is, without a tag.
   */
  async send(
    context: RequestContext,
    { status = 200, headers = {}, body }: HandlerResult,
    delivery: Delivery = 'plain',
  ): Promise<void> {
    const head = this.#head(context, headers)
    if (isStream(body)) return this.#stream(context, status, head, body)
    if (body instanceof JsonChunks) return this.#chunks(context, status, head, body, delivery)
    if (body === undefined || status === 304 || status === 204) return this.#end(context, status, head, '')
    if (isText(body) && head['content-type'] !== undefined) return this.#end(context, status, head, body)
    head['content-type'] ??= JSON_TYPE
    const text = body instanceof RawJson ? body.text : JSON.stringify(body)
    if (delivery === 'plain' || status !== 200) return this.#end(context, status, head, text)
    return this.#read(context, head, text, delivery)
  }

  /** Sends JSON: 304 if the client has it, otherwise compressed if the client accepts that. */
  async #read(context: RequestContext, head: Headers, text: string, delivery: Delivery): Promise<void> {
    if (text.length < MIN_COMPRESSED_BYTES || head['etag'] !== undefined) return this.#end(context, 200, head, text)
    const body = Buffer.from(text)
    const coding = negotiate(context, head, delivery)
    if (isNotModified(context, head, coding, [body])) return this.#end(context, 304, head, '')
    if (!this.#mayCompress(context, coding)) return this.#end(context, 200, head, body)
    this.#compressions += 1
    const compressed = await compress(coding, body, delivery === 'small' ? 'small' : 'fast').finally(
      () => void (this.#compressions -= 1),
    )
    this.#end(context, 200, { ...head, 'content-encoding': coding }, compressed)
  }

  #mayCompress({ request }: RequestContext, coding: ContentCoding | null): coding is ContentCoding {
    return coding !== null && request.method === 'GET' && this.#compressions < MAX_CONCURRENT_COMPRESSIONS
  }

  /** Sends the response for any error. The only place where errors become responses. */
  fail(context: RequestContext, error: unknown): void {
    const { response } = context
    if (response.destroyed || response.writableEnded || context.isAnswered) return
    if (response.headersSent) {
      this.#logFault('a response was cut off', context, error)
      return void response.destroy()
    }
    if (error instanceof FleetError) {
      const retryAfter = error.retryAfterSeconds ?? (ERRORS[error.code].status === 503 ? 1 : undefined)
      const { status } = ERRORS[error.code]
      const headers = { ...error.headers, ...(retryAfter !== undefined && { 'retry-after': String(retryAfter) }) }
      return this.#refuse(context, status, { detail: detailForClient(error), ...codeForClient(error) }, headers)
    }
    this.#logFault('a request failed', context, error)
    this.refuse(context, 503, `internal error, request ${context.id}`, { 'retry-after': '1' })
  }

  refuse(
    context: RequestContext,
    status: number,
    detail: FleetError['detail'],
    headers: Readonly<Record<string, string>> = {},
  ): void {
    this.#refuse(context, status, { detail }, headers)
  }

  #refuse(context: RequestContext, status: number, body: object, headers: Readonly<Record<string, string>>): void {
    this.#deps.onRefusal(status)
    this.#end(context, status, { ...this.#head(context, headers), 'content-type': JSON_TYPE }, JSON.stringify(body))
  }

  #head(context: RequestContext, headers: Readonly<Record<string, string>>): Headers {
    const head: Headers = {
      'muster-request-id': context.id,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    }
    if (context.path.startsWith(`${API_PREFIX}/`)) head['muster-epoch'] = this.#deps.epoch()
    for (const [name, value] of Object.entries(headers)) head[name.toLowerCase()] = value
    this.#deps.cors.addHeaders(context.request, head)
    if (this.#deps.stopping() || context.mustClose) head['connection'] = 'close'
    return head
  }

  #end(context: RequestContext, status: number, head: Headers, body: string | Uint8Array): void {
    const { response } = context
    if (response.destroyed || response.headersSent) return // The client disconnected, or the deadline has responded.
    if (status !== 304 && status !== 204) head['content-length'] = Buffer.byteLength(body)
    response.writeHead(status, head)
    context.isAnswered = true
    this.#afterTurn(() => response.end(body))
  }

  #afterTurn(write: () => void): void {
    if (this.#due.push(write) === 1) afterTurn(() => this.#writeDue())
  }

  #writeDue(): void {
    const due = this.#due
    this.#due = []
    for (const write of due) write()
  }

  async #chunks(
    context: RequestContext,
    status: number,
    head: Headers,
    { chunks, bytes, onSent }: JsonChunks,
    delivery: Delivery,
  ): Promise<void> {
    const typed = { ...head, 'content-type': JSON_TYPE }
    try {
      const isRead = delivery !== 'plain' && status === 200
      const coding = isRead ? negotiate(context, typed, delivery) : null
      const isTagged = isRead && bytes <= MAX_TAGGED_BYTES
      if (isTagged && isNotModified(context, typed, coding, chunks)) return this.#end(context, 304, typed, '')
      if (this.#mayCompress(context, coding)) return await this.#compressed(context, typed, coding, { chunks, bytes })
      const pipe: StreamBody['pipe'] = async (write, _signal, drained) => {
        for (const chunk of chunks) if (!write(chunk)) await drained()
      }
      await this.#stream(context, status, { ...typed, 'content-length': bytes }, { pipe })
    } finally {
      onSent()
    }
  }

  /** Sends chunks while they are compressed, as fast as the client reads. */
  async #compressed(
    { response, signal }: RequestContext,
    head: Headers,
    coding: ContentCoding,
    { chunks, bytes }: Pick<JsonChunks, 'chunks' | 'bytes'>,
  ): Promise<void> {
    if (response.destroyed || response.headersSent) return
    response.writeHead(200, { ...head, 'content-encoding': coding })
    this.#compressions += 1
    try {
      await pipeline(chunks, createCompressor(coding, bytes), response, { signal })
    } catch (error) {
      if (!response.destroyed) throw error // Otherwise the client has disconnected.
    } finally {
      this.#compressions -= 1
    }
  }

  async #stream(context: RequestContext, status: number, head: Headers, { pipe }: StreamBody): Promise<void> {
    const { response, request } = context
    if (response.destroyed || response.headersSent) return
    response.writeHead(status, head)
    if (request.method === 'HEAD') return void response.end()
    response.flushHeaders()
    const hasEvents = String(head['content-type']).startsWith('text/event-stream')
    let heldChars = 0
    const write: Write = (chunk, onFlushed) => {
      if (response.destroyed) return false
      const flushed = onFlushed && ((error?: Error | null): void => void (error ?? onFlushed()))
      if (!hasEvents) return response.write(chunk, flushed)
      heldChars += chunk.length
      this.#afterTurn(() => {
        heldChars -= chunk.length
        response.write(chunk, flushed)
      })
      return heldChars < response.writableHighWaterMark && !response.writableNeedDrain
    }
    const drained = async (): Promise<void> => {
      if (heldChars > 0) await new Promise<void>((resolve) => this.#afterTurn(resolve))
      await new Promise<void>((resolve) => {
        if (response.destroyed || !response.writableNeedDrain) return resolve()
        const done = (): void => {
          response.off('drain', done).off('close', done)
          resolve()
        }
        response.on('drain', done).on('close', done)
      })
    }
    await pipe(write, context.signal, drained)
    this.#afterTurn(() => response.end())
  }

  #logFault(what: string, context: RequestContext, error: unknown): void {
    if (context.signal.aborted && (error as Error | null)?.name === 'AbortError') return
    this.#deps.log.error(what, {
      request_id: context.id,
      method: context.request.method,
      path: context.path,
      error,
    })
  }
}

/** Adds `Vary` to the head of a read. @returns the coding to use; null if the body is sent as it is. */
function negotiate({ request }: RequestContext, head: Headers, delivery: Delivery): ContentCoding | null {
  if (delivery !== 'compressed' && delivery !== 'small') return null
  head['vary'] = head['vary'] === undefined ? 'Accept-Encoding' : `Accept-Encoding, ${head['vary']}`
  return chooseCoding(request.headers['accept-encoding'])
}

/**
 * Adds the entity tag, for clients that can use it: those that send one, and those that accept a coding.
 * @returns whether the client has this body already.
 */
function isNotModified(
  { request }: RequestContext,
  head: Headers,
  coding: ContentCoding | null,
  chunks: readonly Uint8Array[],
): boolean {
  const known = request.headers['if-none-match']
  if (known === undefined && coding === null) return false
  const tag = tagOf(chunks)
  head['etag'] = tag
  return matchesTag(known, tag)
}

const isText = (body: unknown): body is string | Uint8Array => typeof body === 'string' || body instanceof Uint8Array

function isStream(body: unknown): body is StreamBody {
  return typeof body === 'object' && body !== null && typeof (body as Partial<StreamBody>).pipe === 'function'
}
