/**
 * A TCP proxy that ends one connection after a number of bytes in one direction. Later connections are forwarded
 * unchanged.
 */
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'

export interface Cut {
  readonly direction: 'request' | 'response'
  /** Bytes that pass before the connection ends. */
  readonly afterBytes: number
}

export class CutProxy {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #target: URL
  #cut: Cut | null
  /** Called when the connection was cut, before the client notices. */
  onCut: () => Promise<void> = () => Promise.resolve()
  /** Bytes of the first connection in each direction. */
  readonly passed = { request: 0, response: 0 }

  private constructor(target: string, cut: Cut | null) {
    this.#target = new URL(target)
    this.#cut = cut
    this.#server = createServer((socket) => this.#forward(socket))
  }

  static async start(target: string, cut: Cut | null): Promise<CutProxy> {
    const proxy = new CutProxy(target, cut)
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    return proxy
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #forward(client: Socket): void {
    const master = connect(Number(this.#target.port), this.#target.hostname)
    const cut = this.#cut
    this.#cut = null
    for (const socket of [client, master]) {
      this.#sockets.add(socket)
      socket.on('error', () => {}) // The close event follows.
      socket.on('close', () => this.#sockets.delete(socket))
    }
    this.#pass('request', client, master, cut)
    this.#pass('response', master, client, cut)
  }

  #pass(direction: Cut['direction'], from: Socket, to: Socket, cut: Cut | null): void {
    let left = cut?.direction === direction ? cut.afterBytes : Infinity
    from.on('data', (chunk: Buffer) => {
      this.passed[direction] += chunk.length
      if (chunk.length < left) {
        left -= chunk.length
        to.write(chunk)
        return
      }
      from.pause()
      to.write(chunk.subarray(0, left), () => void this.#end(direction, from, to))
    })
    from.on('close', () => to.destroy())
  }

  /** A request whose last byte was forwarded is executed, although its client gets no response. */
  async #end(direction: Cut['direction'], from: Socket, to: Socket): Promise<void> {
    const [client, master] = direction === 'request' ? [from, to] : [to, from]
    if (direction === 'request') await new Promise((resolve) => setTimeout(resolve, 5))
    master.destroy()
    await this.onCut()
    client.destroy()
  }
}
