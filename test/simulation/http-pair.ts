/**
 * Calls a request handler of Node without a server: a real IncomingMessage and a real ServerResponse whose output goes
 * to `sink`. Only what Express and the master use is replaced, as own properties, because Express replaces prototypes.
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

/** Handles one request. @returns a function that disconnects the client. */
export function callHandler(
  handle: RequestListener,
  { method, path, headers, body }: PlainRequest,
  sink: (part: ResponsePart) => void,
): () => void {
  const socket = { remoteAddress: '10.0.0.1', readable: false, destroyed: false, destroy: () => cut() }
  const request = new IncomingMessage(socket as unknown as Socket)
  const all = { host: 'master', 'content-length': String(Buffer.byteLength(body)), ...headers }
  Object.assign(request, { method, url: path, httpVersion: '1.1', httpVersionMajor: 1, httpVersionMinor: 1 })
  request.headers = all
  request.rawHeaders = Object.entries(all).flat()
  request.complete = true
  if (body !== '') request.push(body)
  request.push(null)
  const response = new ServerResponse(request)
  let head: ResponsePart | null = null
  // What `headersSent`, `writableEnded` and `writableNeedDrain` read. Properties of our own cost more.
  const state = response as unknown as Record<string, unknown>
  let [isHeadSent, isEnded, isClosed] = [false, false, false]
  const sendHead = (): void => {
    if (!isHeadSent) sink(head ?? { kind: 'head', status: response.statusCode, headers: {} })
    isHeadSent = true
    state['_header'] = 'sent'
  }
  const write = (chunk: unknown): boolean => {
    if (isEnded || isClosed) return false
    sendHead()
    if (chunk !== undefined && chunk !== '') sink({ kind: 'data', chunk: Buffer.from(chunk as string) })
    return true
  }
  const close = (): void => {
    if (isClosed) return
    isClosed = true
    response.destroyed = true
    response.emit('close')
  }
  const cut = (): void => {
    if (!isEnded && !isClosed) sink({ kind: 'cut' })
    process.nextTick(close)
  }
  Object.defineProperty(response, 'writableFinished', { get: () => isEnded })
  Object.assign(response, {
    writeHead: (status: number, fields: Record<string, string | number> = {}) => {
      response.statusCode = status
      const texts: Record<string, string> = {}
      for (const [name, value] of Object.entries(fields)) texts[name] = String(value)
      head = { kind: 'head', status, headers: texts }
      state['_header'] = 'sent'
      return response
    },
    flushHeaders: sendHead,
    write,
    end: (chunk?: unknown) => {
      if (isEnded || isClosed) return response
      write(chunk)
      isEnded = true
      state['finished'] = true
      sink({ kind: 'end' })
      process.nextTick(close)
      return response
    },
    destroy: () => {
      cut()
      return response
    },
  })
  handle(request, response)
  return close
}
