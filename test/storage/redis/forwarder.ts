/**
 * Forwards connections between clients and servers of a test, each to the next server in turn, and simulates network
 * faults:
 *
 *   point()   new connections go to other servers
 *   refuse()  closes connections whose client has sent a matching text, now and later
 *   freeze()  every connection, including new ones, stays open and transfers nothing, like a cut cable
 *   cut()     closes every connection, and every new one immediately, like a rejecting firewall
 *   loseAnswer() drops the first response to a matching message and then closes every connection like cut()
 *   slow()    on new connections, responses arrive at about 3 MiB per second
 *   mend()    new connections are forwarded again
 */
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

const HOST = '127.0.0.1'
/** Length of the recorded start of a client's data, enough to identify the connection. */
const MAX_SAID = 4_096

/** The client socket and the server socket, if there is one. */
interface Pair {
  said: string
  readonly sockets: readonly Socket[]
}

export class Forwarder {
  readonly #server: Server
  readonly #pairs = new Set<Pair>()
  #ports: readonly number[]
  #accepted = 0
  #state: 'carries' | 'slow' | 'frozen' | 'cut' = 'carries'
  #refused: RegExp | null = null
  #refusals = 0
  #losing: { readonly words: RegExp; readonly resolve: () => void } | null = null

  private constructor(ports: readonly number[]) {
    this.#ports = ports
    this.#server = createServer((client) => this.#accept(client))
  }

  static async to(...ports: readonly number[]): Promise<Forwarder> {
    const forwarder = new Forwarder(ports)
    await once(forwarder.#server.listen(0, HOST), 'listening')
    return forwarder
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** How many connections were closed because of what their client had sent. */
  get refusals(): number {
    return this.#refusals
  }

  point(...ports: readonly number[]): void {
    this.#ports = ports
  }

  /** `null` lets all connections pass again. */
  refuse(words: RegExp | null): void {
    this.#refused = words
    for (const pair of this.#pairs) if (words?.test(pair.said) === true) end(pair)
  }

  freeze(): void {
    this.#state = 'frozen'
    for (const { sockets } of this.#pairs) for (const socket of sockets) socket.unpipe().pause()
  }

  cut(): void {
    this.#state = 'cut'
    for (const pair of this.#pairs) end(pair)
  }

  /** Resolves when the response was dropped. By then the server has executed the call. */
  loseAnswer(words: RegExp): Promise<void> {
    return new Promise((resolve) => void (this.#losing = { words, resolve }))
  }

  slow(): void {
    this.#state = 'slow'
  }

  mend(): void {
    this.#state = 'carries'
  }

  async close(): Promise<void> {
    this.cut()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #accept(client: Socket): void {
    if (this.#state === 'cut') client.on('error', () => undefined).destroy()
    else if (this.#state === 'frozen') this.#keep(client.pause())
    else this.#carry(client, connect(this.#ports[this.#accepted++ % this.#ports.length] ?? 0, HOST))
  }

  #carry(client: Socket, server: Socket): void {
    const pair = this.#keep(client, server)
    if (this.#state === 'slow') server.on('data', () => delay(server))
    client.on('data', (chunk: Buffer) => {
      if (pair.said.length < MAX_SAID) pair.said += chunk.toString('latin1')
      if (this.#refused?.test(pair.said) === true) this.#refuse(pair)
      if (this.#losing?.words.test(chunk.toString('latin1')) === true) this.#lose(server)
    })
    client.pipe(server).pipe(client)
  }

  #refuse(pair: Pair): void {
    this.#refusals += 1
    end(pair)
  }

  #lose(server: Socket): void {
    const losing = this.#losing
    this.#losing = null
    server.unpipe()
    server.once('data', () => {
      this.cut()
      losing?.resolve()
    })
    server.resume() // unpipe() paused it.
  }

  #keep(...sockets: readonly Socket[]): Pair {
    const pair = { said: '', sockets }
    this.#pairs.add(pair)
    for (const socket of sockets) {
      socket
        .setNoDelay()
        .on('error', () => undefined)
        .on('close', () => {
          // An error is always followed by a close event.
          this.#pairs.delete(pair)
          end(pair)
        })
    }
    return pair
  }
}

function end({ sockets }: Pair): void {
  for (const socket of sockets) socket.destroy()
}

/** A chunk is at most 64 KiB. */
function delay(socket: Socket): void {
  socket.pause()
  setTimeout(() => socket.resume(), 20)
}
