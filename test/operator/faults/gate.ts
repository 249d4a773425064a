/**
 * Connects one operator to the master: a proxy on its own port. Each request has one `Fate`, and events of the feed can
 * be withheld. It counts open requests, so that virtual time waits for real sockets.
 */
import { once } from 'node:events'
import {
  Agent,
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { VirtualTime } from '../../../src/runtime/index.ts'
import { nextTurn, type Faults, type Traffic } from './faults.ts'

export interface GateParts {
  readonly time: VirtualTime
  readonly faults: Faults
  readonly traffic: Traffic
  /** The current address of the master; the test may replace the master. */
  readonly masterUrl: () => string
  /** Whether this event of the feed is never delivered. */
  readonly hides: (event: string) => boolean
  /** Changes the headers of a request before it is passed on. */
  readonly alter: (headers: IncomingMessage['headers']) => IncomingMessage['headers']
}

export class Gate {
  readonly #parts: GateParts
  readonly #agent = new Agent({ keepAlive: true })
  readonly #feeds = new Set<ServerResponse>()
  readonly #server: Server

  private constructor(parts: GateParts) {
    this.#parts = parts
    this.#server = createServer(
      (request, response) => void this.#serve(request, response).catch(() => response.destroy()),
    )
    parts.traffic.ended.addEventListener('abort', () => this.close())
  }

  static async open(parts: GateParts): Promise<Gate> {
    const gate = new Gate(parts)
    gate.#server.listen(0, '127.0.0.1')
    await once(gate.#server, 'listening')
    return gate
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  cutFeeds(): void {
    for (const feed of this.#feeds) feed.destroy()
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
    for (const socket of Object.values(this.#agent.freeSockets).flat()) socket?.destroy()
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { faults, time, traffic } = this.#parts
    const { method = '', url: path = '' } = request
    const isFeed = path.startsWith('/api/v1/events')
    const served = (async () => {
      const body = await text(request)
      const fate = faults.fateOf({
        side: 'master',
        method: isFeed ? 'WATCH' : method,
        path,
        ...(body !== '' && { body: JSON.parse(body) as unknown }),
      })
      if ((traffic.ended.aborted && fate.kind !== 'late') || fate.kind === 'break') return void response.destroy()
      if (fate.kind === 'refuse')
        return void response
          .writeHead(fate.status, {
            'content-type': 'application/json',
            'muster-epoch': 'e',
            ...(fate.retryAfterSeconds !== null && { 'retry-after': String(fate.retryAfterSeconds ?? 1) }),
          })
          .end('{"detail":"injected by the test"}')
      if (fate.kind === 'answer') return void response.writeHead(fate.status, fate.headers).end(fate.body)
      if (fate.kind === 'late') await traffic.apart(time.sleep(fate.ms))
      if (fate.kind === 'held') await traffic.apart(fate.until)
      const answer = await this.#forward(request, body)
      if (isFeed) return this.#feed(answer, response)
      const answered = await text(answer)
      fate.effect?.()
      if (traffic.ended.aborted || fate.kind === 'lose') return void response.destroy()
      response.writeHead(answer.statusCode ?? 0, this.#headersOf(answer)).end(answered)
      await once(response, 'close')
      await nextTurn()
      fate.answered?.()
    })()
    await traffic.count(served)
  }

  async #forward({ method = 'GET', url = '', headers }: IncomingMessage, body: string): Promise<IncomingMessage> {
    const { alter, masterUrl } = this.#parts
    const onward = httpRequest(masterUrl() + url, { method, headers: alter(headers), agent: this.#agent })
    onward.end(body)
    const [answer] = (await once(onward, 'response')) as [IncomingMessage]
    return answer
  }

  /** Replaces the `Date` header by the master's virtual time. */
  #headersOf({ headers }: IncomingMessage): IncomingMessage['headers'] {
    return { ...headers, date: new Date(this.#parts.time.wallMs()).toUTCString() }
  }

  /** Passes on complete events. */
  #feed(answer: IncomingMessage, response: ServerResponse): void {
    response.writeHead(answer.statusCode ?? 0, this.#headersOf(answer))
    response.flushHeaders()
    this.#feeds.add(response)
    response.on('close', () => {
      this.#feeds.delete(response)
      answer.destroy()
    })
    answer.on('close', () => response.destroy())
    let rest = ''
    answer.setEncoding('utf8').on('data', (chunk: string) => {
      const events = (rest + chunk).split('\n\n')
      rest = events.pop() ?? ''
      for (const event of events) if (!this.#parts.hides(event)) response.write(`${event}\n\n`)
    })
  }
}
