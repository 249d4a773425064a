/**
 * @module master/http/response-writer
 * Writes responses. Each has the id of its request (D59), is not stored by caches and not sniffed for another content
 * type. Those under /api/v1 name the epoch of the store (D47). Errors have the single field `detail` (D14).
 */
import { API_PREFIX, codeForClient, detailForClient, ERRORS, FleetError } from '../../protocol/index.ts'
import type { Log } from '../../runtime/index.ts'
import type { CorsPolicy } from './cors.ts'
import type { RequestContext } from './request-context.ts'
import { JsonChunks, RawJson, type HandlerResult, type StreamBody } from './route.ts'

const JSON_TYPE = 'application/json; charset=utf-8'
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

  constructor(deps: ResponseWriterDeps) {
    this.#deps = deps
  }

  /** Sends the result of a handler. Resolves when a stream has ended. */
  async send(context: RequestContext, { status = 200, headers = {}, body }: HandlerResult): Promise<void> {
    const head = this.#head(context, headers)
    if (isStream(body)) return this.#stream(context, status, head, body)
    if (body instanceof JsonChunks) return this.#chunks(context, status, head, body)
    if (body === undefined || status === 304 || status === 204) return this.#end(context, status, head, '')
    if ((typeof body === 'string' || body instanceof Uint8Array) && head['content-type'] !== undefined)
      return this.#end(context, status, head, body)
    head['content-type'] ??= JSON_TYPE
    this.#end(context, status, head, body instanceof RawJson ? body.text : JSON.stringify(body))
  }

  /** Sends the response for any error. The only place where errors become responses. */
  fail(context: RequestContext, error: unknown): void {
    const { response } = context
    if (response.destroyed || response.writableEnded) return
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

  #end({ response }: RequestContext, status: number, head: Headers, body: string | Uint8Array): void {
    if (response.destroyed || response.headersSent) return // The client disconnected, or the deadline has responded.
    if (status !== 304 && status !== 204) head['content-length'] = Buffer.byteLength(body)
    response.writeHead(status, head).end(body)
  }

  #chunks(
    context: RequestContext,
    status: number,
    head: Headers,
    { chunks, bytes, onSent }: JsonChunks,
  ): Promise<void> {
    const sized = { ...head, 'content-type': JSON_TYPE, 'content-length': bytes }
    const pipe: StreamBody['pipe'] = async (write, _signal, drained) => {
      for (const chunk of chunks) if (!write(chunk)) await drained()
    }
    return this.#stream(context, status, sized, { pipe }).finally(onSent)
  }

  async #stream(context: RequestContext, status: number, head: Headers, { pipe }: StreamBody): Promise<void> {
    const { response, request } = context
    if (response.destroyed || response.headersSent) return
    response.writeHead(status, head)
    if (request.method === 'HEAD') return void response.end()
    response.flushHeaders()
    const write: Write = (chunk, onFlushed) =>
      !response.destroyed &&
      (onFlushed === undefined ? response.write(chunk) : response.write(chunk, (error) => void (error ?? onFlushed())))
    const drained = (): Promise<void> =>
      new Promise((resolve) => {
        if (response.destroyed || !response.writableNeedDrain) return resolve()
        const done = (): void => {
          response.off('drain', done).off('close', done)
          resolve()
        }
        response.on('drain', done).on('close', done)
      })
    await pipe(write, context.signal, drained)
    response.end()
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

function isStream(body: unknown): body is StreamBody {
  return typeof body === 'object' && body !== null && typeof (body as Partial<StreamBody>).pipe === 'function'
}
