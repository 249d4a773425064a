/**
 * An HTTP gateway between the operator and a real master. It passes requests through and counts them, until a test
 * makes it respond in place of the master.
 */
import { once } from 'node:events'
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

export interface Nonsense {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export class Gateway {
  /** Replaces every response of the master while it is set. */
  nonsense: Nonsense | undefined
  /** The requests that were passed through, such as `PATCH /api/v1/…`. */
  readonly passed: string[] = []
  readonly #target: string
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  constructor(target: string) {
    this.#target = target
    this.#server = createServer((asked, response) => this.#serve(asked, response))
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
  }

  /** Starts listening. @returns its address. */
  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Closes every connection, so that event streams reconnect. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  async close(): Promise<void> {
    this.cut()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #serve(asked: IncomingMessage, response: ServerResponse): void {
    if (this.nonsense !== undefined) {
      const { status, headers, body } = this.nonsense
      asked.resume()
      response.writeHead(status, headers).end(body)
      return
    }
    this.passed.push(`${asked.method} ${asked.url}`)
    const onwards = request(new URL(asked.url ?? '/', this.#target), { method: asked.method, headers: asked.headers })
    onwards.on('response', (received) => {
      response.writeHead(received.statusCode ?? 502, received.headers)
      received.pipe(response)
      received.on('error', () => response.destroy())
    })
    onwards.on('error', () => response.destroy())
    response.on('close', () => onwards.destroy())
    asked.pipe(onwards)
  }
}
