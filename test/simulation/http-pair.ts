/**
 * Calls a request handler of Node without a server: with a real IncomingMessage, and with a real ServerResponse whose
 * output goes to `sink`. Only what the master uses is replaced.
 */
import { IncomingMessage, ServerResponse, type RequestListener } from 'node:http'
import type { Socket } from 'node:net'

export interface PlainRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export type ResponsePart =
  | { readonly kind: 'head'; readonly status: number; readonly headers: Readonly<Record<string, string>> }
  | { readonly kind: 'data'; readonly chunk: Buffer }
  | { readonly kind: 'end' }
  /** The server cut the connection before the end of the response. */
  | { readonly kind: 'cut' }

type Sink = (part: ResponsePart) => void
type Fields = Readonly<Record<string, string | number>>

/** Handles one request. @returns a function that disconnects the client. */
export function callHandler(handle: RequestListener, plain: PlainRequest, sink: Sink): () => void {
  const socket = { remoteAddress: '10.0.0.1', readable: false, destroyed: false, destroy: () => response.cut() }
  const request = requestOf(plain, socket as unknown as Socket)
  const response = new PairResponse(request, sink)
  handle(request, response as unknown as ServerResponse)
  return () => response.disconnect()
}

function requestOf({ method, path, headers, body }: PlainRequest, socket: Socket): IncomingMessage {
  const request = new IncomingMessage(socket)
  request.method = method
  request.url = path
  request.httpVersion = '1.1'
  request.httpVersionMajor = 1
  request.httpVersionMinor = 1
  request.headers = { host: 'master', 'content-length': String(Buffer.byteLength(body)), ...headers }
  request.rawHeaders = Object.entries(request.headers).flat() as string[]
  request.complete = true
  if (body !== '') request.push(body)
  request.push(null)
  return request
}

/** Without the members that are replaced: the methods of Node have more overloads than the master calls. */
const Base = ServerResponse as unknown as new (
  request: IncomingMessage,
) => Omit<
  ServerResponse,
  'headersSent' | 'writableFinished' | 'writeHead' | 'flushHeaders' | 'write' | 'end' | 'destroy'
>

class PairResponse extends Base {
  readonly #sink: Sink
  #head: ResponsePart | null = null
  #hasHead = false
  #isHeadSent = false
  #isEnded = false
  #isClosed = false

  constructor(request: IncomingMessage, sink: Sink) {
    super(request)
    this.#sink = sink
  }

  get headersSent(): boolean {
    return this.#hasHead
  }

  get writableFinished(): boolean {
    return this.#isEnded
  }

  writeHead(status: number, fields: Fields = {}): this {
    const headers: Record<string, string> = {}
    for (const name in fields) headers[name] = String(fields[name])
    this.statusCode = status
    this.#head = { kind: 'head', status, headers }
    this.#hasHead = true
    return this
  }

  flushHeaders(): void {
    if (!this.#isHeadSent) this.#sink(this.#head ?? { kind: 'head', status: this.statusCode, headers: {} })
    this.#hasHead = true
    this.#isHeadSent = true
  }

  write(chunk?: string | Uint8Array): boolean {
    if (this.#isEnded || this.#isClosed) return false
    this.flushHeaders()
    if (chunk !== undefined && chunk !== '') this.#sink({ kind: 'data', chunk: Buffer.from(chunk as string) })
    return true
  }

  end(chunk?: string | Uint8Array): this {
    if (this.#isEnded || this.#isClosed) return this
    this.write(chunk)
    this.#isEnded = true
    this.finished = true // What `writableEnded` and `writableNeedDrain` of Node read.
    this.#sink({ kind: 'end' })
    process.nextTick(() => this.disconnect())
    return this
  }

  destroy(): this {
    this.cut()
    return this
  }

  /** Ends the connection from the side of the master. */
  cut(): void {
    if (!this.#isEnded && !this.#isClosed) this.#sink({ kind: 'cut' })
    process.nextTick(() => this.disconnect())
  }

  /** The connection is gone. Repeatable. */
  disconnect(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.destroyed = true
    this.emit('close')
  }
}
