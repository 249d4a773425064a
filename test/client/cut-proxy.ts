/**
 * A TCP proxy that ends one connection after a number of bytes in one direction. Later connections are forwarded
 * unchanged.
 */
import { connect, type Socket } from 'node:net'
import { ProxyServer } from '../kit/proxy-server.ts'

export interface Cut {
  readonly direction: 'request' | 'response'
  /** Bytes that pass before the connection ends. */
  readonly afterBytes: number
}

export class CutProxy {
  readonly #server: ProxyServer
  readonly #target: URL
  #cut: Cut | null
  /** Called when the connection was cut, before the client notices. */
  onCut: () => Promise<void> = () => Promise.resolve()
  /** Bytes of the first connection in each direction. */
  readonly passed = { request: 0, response: 0 }

  private constructor(target: string, cut: Cut | null) {
    this.#target = new URL(target)
    this.#cut = cut
    this.#server = new ProxyServer((socket) => this.#forward(socket))
  }

  static async start(target: string, cut: Cut | null): Promise<CutProxy> {
    const proxy = new CutProxy(target, cut)
    await proxy.#server.listen()
    return proxy
  }

  get url(): string {
    return this.#server.url
  }

  stop(): Promise<void> {
    return this.#server.close()
  }

  #forward(client: Socket): void {
    const master = connect(Number(this.#target.port), this.#target.hostname)
    const cut = this.#cut
    this.#cut = null
    this.#server.keep(client, master)
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
