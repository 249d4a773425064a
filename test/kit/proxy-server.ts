/** ProxyServer accepts the connections of a proxy in a test, and ends them when it is closed. */
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'

export class ProxyServer {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  /** @param accept Called with the socket of each client, which `keep` has to be called with. */
  constructor(accept: (client: Socket) => void) {
    this.#server = createServer(accept)
  }

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Ends these sockets with the proxy. Their errors are ignored, because a close event follows. */
  keep(...sockets: readonly Socket[]): void {
    for (const socket of sockets) {
      this.#sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => this.#sockets.delete(socket))
    }
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
