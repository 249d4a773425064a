/**
 * A small master for tests of the worker: real HTTP and WebSocket, with its state in fields that a test sets and reads.
 * It implements only the specified protocol. Other tests use the real master.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { WebSocketServer, type WebSocket } from 'ws'
import { decodeWorkerFrame, type RpcRequest, type WorkerFrame } from '../../src/protocol/index.ts'

type Frame<T extends WorkerFrame['type']> = Extract<WorkerFrame, { type: T }>
interface WireTask {
  readonly task_id: string
  readonly payload: object
}
interface LeasedTask extends WireTask {
  readonly token: number
}
interface Settle {
  readonly method: string
  readonly task_id: string
  readonly token: number
  readonly error?: string
}

/** @returns the payloads of the outputs in a frame; empty for a frame of another type. */
export function payloadsOf(frame: WorkerFrame): readonly Record<string, unknown>[] {
  if (frame.type === 'output') return [frame.payload]
  return frame.type === 'output_batch' ? frame.outputs.map(({ payload }) => payload) : []
}

export class Peer {
  epoch = 'e1'
  config: Record<string, unknown> = { enabled: true, slots: 1, max_attempts: 3, recycle_seconds: 0 }
  configGen = 1
  /** While set, handshakes are rejected with this status. */
  handshakeStatus: number | null = null
  handshakeHeaders: Record<string, string> = {}
  closeCode: number | null = null
  configStatus: number | null = null
  rpcStatus: number | null = null
  /** While set, every request and handshake is rejected with it. */
  refusal: { readonly status: number; readonly headers: Record<string, string> } | null = null
  respondsToPings = true
  /** While true, requests get no response. */
  silent = false

  readonly frames: WorkerFrame[] = []
  readonly requests: { readonly method: string; readonly url: string; readonly headers: IncomingMessage['headers'] }[] =
    []
  readonly handshakes: IncomingMessage['headers'][] = []
  readonly handshakeUrls: string[] = []
  readonly rpcCalls: { readonly method: string; readonly params: Record<string, unknown> }[] = []
  readonly rpcBodies: number[] = []
  readonly settles: Settle[] = []
  readonly leased = new Map<number, LeasedTask>()
  readonly lostTokens = new Set<number>()
  readonly busStreams: { readonly topic: string; readonly response: ServerResponse }[] = []
  pending: WireTask[] = []
  extendsAsked = 0
  rpcMethods: Record<string, (params: Record<string, unknown>) => unknown> = {}

  readonly #server: Server
  readonly #sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false })
  #waiting: { limit: number; answer: (tasks: unknown) => void }[] = []
  #token = 100

  constructor() {
    this.#server = createServer((request, response) => void this.#serve(request, response))
    this.#server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) =>
      this.#upgrade(request, socket, head),
    )
  }

  async start(port = 0): Promise<this> {
    await new Promise<void>((resolve) => void this.#server.listen(port, '127.0.0.1', resolve))
    return this
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate()
    this.#server.closeAllConnections()
    if (this.#server.listening) await new Promise((resolve) => void this.#server.close(resolve))
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  get sockets(): readonly WebSocket[] {
    return [...this.#sockets.clients]
  }

  of<T extends WorkerFrame['type']>(type: T): readonly Frame<T>[] {
    return this.frames.filter((frame): frame is Frame<T> => frame.type === type)
  }

  /** Payloads of all outputs, in the order of arrival. */
  get outputs(): readonly Record<string, unknown>[] {
    return this.frames.flatMap(payloadsOf)
  }

  settled(method: string): readonly string[] {
    return this.settles.filter((each) => each.method === method).map(({ task_id: id }) => id)
  }

  send(frame: object): void {
    for (const socket of this.#sockets.clients) socket.send(JSON.stringify(frame))
  }

  /** Sends a ping, as a master does every 20 s. */
  ping(): void {
    for (const socket of this.#sockets.clients) socket.ping()
  }

  setConfig(config: Record<string, unknown>, gen = this.configGen + 1): void {
    this.config = { ...this.config, ...config }
    this.configGen = gen
    this.send({ type: 'config_changed', config_gen: gen })
  }

  submit(...ids: string[]): void {
    this.pending.push(...ids.map((id) => ({ task_id: id, payload: { id } })))
    this.#serveWaiting()
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.handshakes.push(request.headers)
    this.handshakeUrls.push(request.url ?? '')
    const status = this.refusal?.status ?? this.handshakeStatus
    if (status !== null) {
      const headers = Object.entries(this.refusal?.headers ?? this.handshakeHeaders)
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join('')
      socket.end(`HTTP/1.1 ${status} No\r\n${headers}Connection: close\r\nContent-Length: 0\r\n\r\n`)
      return
    }
    this.#sockets.handleUpgrade(request, socket, head, (webSocket) => {
      if (this.closeCode !== null) webSocket.close(this.closeCode, 'because')
      webSocket.on('message', (data: Buffer) => this.#received(webSocket, data))
    })
  }

  #received(socket: WebSocket, data: Buffer): void {
    if (this.closeCode !== null) return
    const frame = decodeWorkerFrame(data.toString())
    this.frames.push(frame)
    if (frame.type === 'ping' && this.respondsToPings) socket.send(JSON.stringify(frame))
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers })
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    if (this.silent) return
    if (this.refusal !== null)
      return void response.writeHead(this.refusal.status, this.refusal.headers).end('<html>no</html>')
    const url = new URL(request.url ?? '', 'http://peer')
    if (url.pathname.endsWith('/config')) return this.#serveConfig(request, response)
    if (url.pathname.endsWith('/bus')) return this.#serveBus(url, response)
    if (this.rpcStatus !== null) return void response.writeHead(this.rpcStatus).end('{"detail":"no"}')
    await this.#serveRpc(Buffer.concat(chunks), request, response)
  }

  #serveConfig(request: IncomingMessage, response: ServerResponse): void {
    if (this.configStatus !== null) return void response.writeHead(this.configStatus).end('{"detail":"no"}')
    const etag = `"${this.epoch}.${this.configGen}"`
    if (request.headers['if-none-match'] === etag) return void response.writeHead(304, { etag }).end()
    response
      .writeHead(200, { 'content-type': 'application/json', etag, 'muster-epoch': this.epoch })
      .end(JSON.stringify({ config: this.config, config_gen: this.configGen }))
  }

  #serveBus(url: URL, response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(': listening\n\n')
    this.busStreams.push({ topic: url.searchParams.get('topic') ?? '', response })
  }

  async #serveRpc(bytes: Buffer, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = JSON.parse(bytes.toString()) as RpcRequest | RpcRequest[]
    const calls = Array.isArray(body) ? body : [body]
    this.rpcBodies.push(calls.length)
    const responses = await Promise.all(calls.map((call) => this.#answer(call, request)))
    if (response.writable)
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify(Array.isArray(body) ? responses : responses[0]))
  }

  async #answer({ id, method, params }: RpcRequest, request: IncomingMessage): Promise<object> {
    const given = params as Record<string, unknown>
    this.rpcCalls.push({ method, params: given })
    const own = this.rpcMethods[method]
    if (own !== undefined) {
      const answer = own(given) as { error?: unknown }
      return answer.error === undefined
        ? { jsonrpc: '2.0', id, result: answer }
        : { jsonrpc: '2.0', id, error: answer.error }
    }
    return {
      jsonrpc: '2.0',
      id,
      result:
        method === 'tasks.reserve'
          ? await this.#reserve(given['limit'] as number, request)
          : this.#settle(method, given['tasks'] as Settle[]),
    }
  }

  #reserve(limit: number, request: IncomingMessage): Promise<object> {
    return new Promise((resolve) => {
      const waiter = { limit, answer: (tasks: unknown) => resolve({ tasks }) }
      this.#waiting.push(waiter)
      request.socket.setMaxListeners(0).once('close', () => {
        this.#waiting = this.#waiting.filter((each) => each !== waiter)
      })
      this.#serveWaiting()
    })
  }

  #serveWaiting(): void {
    while (this.pending.length > 0) {
      const waiter = this.#waiting.shift()
      if (waiter === undefined) return
      waiter.answer(this.pending.splice(0, waiter.limit).map((task) => this.#lease(task)))
    }
  }

  #lease(task: WireTask): object {
    this.#token += 1
    this.leased.set(this.#token, { ...task, token: this.#token })
    return { ...task, token: this.#token, attempt: 0, max_attempts: 3, priority: 0, submitted_at: 1, expires_at: 61 }
  }

  #settle(method: string, tasks: readonly Settle[]): object {
    if (method === 'tasks.extend') this.extendsAsked += 1
    return {
      results: tasks.map((task) => {
        if (this.lostTokens.has(task.token)) return { ok: false, error: 'lease_lost' }
        if (method === 'tasks.extend') return { ok: true, expires_at: 61 }
        this.settles.push({ ...task, method })
        this.leased.delete(task.token)
        return method === 'tasks.nack' ? { ok: true, outcome: 'scheduled' } : { ok: true }
      }),
    }
  }
}
