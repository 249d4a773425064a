/** Forwards connections to a master, counts the lines of streams that pass (D125), and cuts connections inside them. */
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

const LINE = '"method":"tasks.leased"'

export class Relay {
  /** Number of chunks that contained a line with tasks. */
  lines = 0
  /** How many of the next lines are cut: the connection ends inside them. */
  cuts = 0
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  constructor(masterUrl: string) {
    const port = Number(new URL(masterUrl).port)
    this.#server = createServer((client) => this.#forward(client, connect(port, '127.0.0.1')))
  }

  async start(): Promise<this> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return this
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #forward(client: Socket, master: Socket): void {
    for (const socket of [client, master]) {
      this.#sockets.add(socket)
      socket.on('error', () => socket.destroy())
      socket.on('close', () => {
        this.#sockets.delete(socket)
        client.destroySoon()
        master.destroySoon()
      })
    }
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
