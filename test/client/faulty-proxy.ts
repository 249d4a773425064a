/**
 * @module test/client/faulty-proxy
 * A proxy between a client and a master. It applies the faults of a script to the requests, in order. Further requests
 * are forwarded, unless a rule applies. Event streams are forwarded as they arrive.
 */
import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream'
import { text } from 'node:stream/consumers'

export type Deed =
  | 'pass'
  /** The connection closes before the master receives the request. */
  | 'reset before'
  /** The master handles the request, and the connection closes without a response. */
  | 'reset after'
  /** The first half of the response, then the connection closes. */
  | 'cut'
  /** No response. */
  | 'hang'
  /** Head and first bytes of a 200, and then nothing. */
  | 'stall'
  /** A response of the proxy. */
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body: string }
  /** A response that the test writes later. */
  | ((response: ServerResponse, request: IncomingMessage) => void)

export interface SeenRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export class FaultyProxy {
  readonly seen: SeenRequest[] = []
  readonly script: Deed[]
  /** For requests after the script. */
  rule: (request: IncomingMessage) => Deed = () => 'pass'
  readonly #streams = new Set<ServerResponse>()
  readonly #target: string
  readonly #server: Server

  private constructor(target: string, script: Deed[]) {
    this.#target = target
    this.script = script
    this.#server = createServer((request, response) => void this.#serve(request, response))
  }

  static async start(target: string, ...script: Deed[]): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(target, script)
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    return proxy
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Closes the open streams. */
  cut(): void {
    for (const response of this.#streams) response.destroy()
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request)
    this.seen.push({ method: request.method ?? '', path: request.url ?? '', headers: request.headers, body })
    const deed = this.script.shift() ?? this.rule(request)
    if (typeof deed === 'function') return deed(response, request)
    if (deed === 'hang') return
    if (deed === 'reset before') return void response.destroy()
    if (deed === 'stall')
      return void response.writeHead(200, { 'content-type': 'application/json', 'muster-epoch': 'e' }).write('{')
    if (typeof deed === 'object') return void response.writeHead(deed.status, deed.headers ?? {}).end(deed.body)
    const onward = await this.#forward(request, body).catch(() => null)
    if (onward === null) return void response.destroy() // The master is stopped.
    const { status, headers } = onward
    if (headers['content-type']?.startsWith('text/event-stream') === true) return this.#stream(onward.answer, response)
    const answer = await text(onward.answer)
    if (deed === 'reset after') return void response.destroy()
    response.writeHead(status, headers)
    if (deed === 'pass') return void response.end(answer)
    response.write(answer.slice(0, answer.length / 2), () => response.destroy())
  }

  async #forward(
    { method, url, headers }: IncomingMessage,
    body: string,
  ): Promise<{ status: number; headers: IncomingMessage['headers']; answer: IncomingMessage }> {
    const onward = httpRequest(this.#target + (url ?? ''), { method: method ?? 'GET', headers, agent: false })
    onward.end(body)
    const [answer] = (await once(onward, 'response')) as [IncomingMessage]
    return { status: answer.statusCode ?? 0, headers: answer.headers, answer }
  }

  #stream(answer: IncomingMessage, response: ServerResponse): void {
    this.#streams.add(response)
    response.on('close', () => {
      this.#streams.delete(response)
      answer.destroy()
    })
    response.writeHead(answer.statusCode ?? 0, answer.headers)
    pipeline(answer, response, () => {}) // Either side may close.
  }
}
