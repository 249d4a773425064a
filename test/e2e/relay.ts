/** Forwards connections to a master, counts the lines of streams that pass (D125), and cuts connections inside them. */
import { connect, type Socket } from 'node:net'
import { ProxyServer } from '../kit/proxy-server.ts'

const LINE = '"method":"tasks.leased"'

export class Relay {
  /** Number of chunks that contained a line with tasks. */
  lines = 0
  /** How many of the next lines are cut: the connection ends inside them. */
  cuts = 0
  readonly #proxy: ProxyServer

  private constructor(masterUrl: string) {
    const port = Number(new URL(masterUrl).port)
    this.#proxy = new ProxyServer((client) => this.#forward(client, connect(port, '127.0.0.1')))
  }

  static async start(masterUrl: string): Promise<Relay> {
    const relay = new Relay(masterUrl)
    await relay.#proxy.listen()
    return relay
  }

  get url(): string {
    return this.#proxy.url
  }

  close(): Promise<void> {
    return this.#proxy.close()
  }

  #forward(client: Socket, master: Socket): void {
    this.#proxy.keep(client, master)
    for (const socket of [client, master])
      socket.on('close', () => {
        client.destroySoon()
        master.destroySoon()
      })
    client.pipe(master)
    master.on('data', (chunk: Buffer) => {
      const at = chunk.indexOf(LINE)
      if (at >= 0) this.lines += 1
      if (at < 0 || this.cuts === 0) return void client.write(chunk)
      this.cuts -= 1
      client.end(chunk.subarray(0, at + LINE.length))
      master.destroy()
    })
  }
}
