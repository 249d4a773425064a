/**
 * @module worker-test/peer
 * Implements the master's side of the worker protocol, with its state in fields that a test sets and reads: real HTTP
 * and WebSocket, but no store. It refuses, breaks and delays what a test selects, and records all calls and frames.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { WebSocketServer, type WebSocket } from 'ws'
import {
  CLOSE,
  decodeWorkerFrame,
  LINES_TYPE,
  RPC_VALIDATORS,
  type RpcRequest,
  type WorkerFrame,
} from '../protocol/index.ts'
import { systemTime } from '../runtime/index.ts'
import { rejectUpgrade, sendDamaged, type Damage } from './damage.ts'
import { serveLines, type OnTasks, type StreamDamage } from './line-response.ts'
import {
  payloadsOf,
  type Arrival,
  type Frame,
  type HttpRequest,
  type LeasedTask,
  type RpcCall,
  type Settle,
  type WireTask,
} from './records.ts'
import { Reserves } from './reserves.ts'
import { carriesToken, errorResponse, isStreamed, readCalls, TASK_METHODS } from './rpc-calls.ts'

/** Characters of a frame or call that the record of events shows. */
const SHOWN_CHARS = 300
const TOKENS_FROM = 100

const brief = (text: string): string => (text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text)

export class Peer {
  epoch = 'e1'
  config: Record<string, unknown> = { enabled: true, slots: 1, max_attempts: 3, recycle_seconds: 0 }
  configGen = 1
  /** Members that the response to a poll has beside `config` and `config_gen`. */
  configExtras: Record<string, unknown> = {}
  /** While false, a poll gets 200 although its `If-None-Match` names this config. */
  respondsNotModified = true
  /** While set, calls and handshakes with another token are rejected, as a master does. */
  acceptedToken: string | null = null
  /** While set, handshakes are rejected with this status. */
  handshakeStatus: number | null = null
  handshakeHeaders: Record<string, string> = {}
  /** What the response to an accepted handshake offers in `Muster-Features`. */
  features = ''
  closeCode: number | null = null
  /** Close codes for the next connections, each used once, after `register`. */
  readonly closeAfterRegister: number[] = []
  configStatus: number | null = null
  rpcStatus: number | null = null
  rpcHeaders: Record<string, string> = {}
  /** While set, every request and handshake is rejected with it. */
  refusal: { readonly status: number; readonly headers: Record<string, string> } | null = null
  respondsToPings = true
  /** While true, requests get no response. */
  silent = false
  /** Visibility timeout of leases; null: they expire at a fixed time in the past, which tests on virtual time use. */
  visibilitySeconds: number | null = null
  /** Members that each task and each result of a settle have in addition. */
  resultExtras: Record<string, unknown> = {}
  /** Selects what happens to the response of a request with these calls. The calls take effect before. */
  damage: (methods: readonly string[]) => Damage | undefined = () => undefined
  /** Selects what happens to the next stream. */
  streamDamage: () => StreamDamage | undefined = () => undefined
  heartbeatMs = 10_000
  /** Called for a frame or params that the protocol does not allow. */
  onFault: (fault: string) => void = (fault) => {
    throw new Error(fault)
  }

  readonly frames: WorkerFrame[] = []
  readonly arrivals: Arrival[] = []
  readonly requests: HttpRequest[] = []
  readonly handshakes: IncomingMessage['headers'][] = []
  readonly handshakeUrls: string[] = []
  readonly handshakesAtMs: number[] = []
  /** Times of the responses to {@link ping}. */
  readonly pongsAtMs: number[] = []
  readonly rpcCalls: RpcCall[] = []
  readonly rpcBodies: number[] = []
  readonly settles: Settle[] = []
  /** Settles with a token in {@link lostTokens}. */
  readonly settlesOfLost: Settle[] = []
  readonly extensions: { readonly token: number; readonly isLost: boolean; readonly atMs: number }[] = []
  readonly leases: (LeasedTask & { readonly atMs: number })[] = []
  readonly leased = new Map<number, LeasedTask>()
  readonly lostTokens = new Set<number>()
  readonly busStreams: { readonly topic: string; readonly response: ServerResponse }[] = []
  /** What happened, one line each, for the diagnosis of a failure. */
  readonly events: string[] = []
  extendsAsked = 0
  /** Where it listens, after {@link start}. */
  port = 0
  rpcMethods: Record<string, (params: Record<string, unknown>) => unknown> = {}

  readonly #server: Server
  readonly #sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false })
  readonly #startedAtMs = systemTime.monotonicMs()
  readonly #reserves = new Reserves((task) => this.#lease(task))
  #token = TOKENS_FROM

  constructor() {
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((error: Error) => {
        if (request.complete) throw error
        this.record(`a request ended early: ${error.message}`)
      })
    })
    this.#server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) =>
      this.#upgrade(request, socket, head),
    )
    this.#sockets.on('headers', (headers) => headers.push(`Muster-Features: ${this.features}`))
  }

  async start(port = 0): Promise<this> {
    await new Promise<void>((resolve) => void this.#server.listen(port, '127.0.0.1', resolve))
    this.port = (this.#server.address() as AddressInfo).port
    return this
  }

  /** Ends all connections and stops listening. {@link start} listens again. */
  async close(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate()
    this.#server.closeAllConnections()
    if (this.#server.listening) await new Promise((resolve) => void this.#server.close(resolve))
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  /** Milliseconds since this peer was created. */
  get nowMs(): number {
    return systemTime.monotonicMs() - this.#startedAtMs
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

  /** Adds a line to {@link events}. */
  record(event: string): void {
    this.events.push(`${(this.nowMs / 1_000).toFixed(2).padStart(6)} s  ${brief(event)}`)
  }

  send(frame: object): void {
    const text = JSON.stringify(frame)
    this.record(`master: frame ${text}`)
    for (const socket of this.#sockets.clients) socket.send(text)
  }

  /** Sends a ping, as a master does every 20 s. */
  ping(): void {
    for (const socket of this.#sockets.clients) socket.ping()
  }

  /** Changes the config without a notification. */
  storeConfig(config: Record<string, unknown>, gen = this.configGen + 1): void {
    this.config = { ...this.config, ...config }
    this.configGen = gen
  }

  setConfig(config: Record<string, unknown>, gen = this.configGen + 1): void {
    this.storeConfig(config, gen)
    this.send({ type: 'config_changed', config_gen: gen })
  }

  submit(...ids: string[]): void {
    this.queue(...ids.map((id) => ({ task_id: id, payload: { id } })))
  }

  queue(...tasks: readonly WireTask[]): void {
    this.#reserves.queue(...tasks)
  }

  /** Tasks that were not leased yet. */
  get pending(): readonly WireTask[] {
    return this.#reserves.pending
  }

  /** Ends the waiting reserves without a task, and all later ones. */
  stopReserves(): void {
    this.#reserves.stop()
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.handshakes.push(request.headers)
    this.handshakeUrls.push(request.url ?? '')
    this.handshakesAtMs.push(this.nowMs)
    const status = this.refusal?.status ?? this.handshakeStatus
    this.record(`worker: handshake${status === null ? '' : `, rejected with ${status}`}`)
    if (status !== null) return rejectUpgrade(socket, status, this.refusal?.headers ?? this.handshakeHeaders)
    const code = this.#isAccepted(request) ? this.closeCode : CLOSE.INVALID_TOKEN
    this.#sockets.handleUpgrade(request, socket, head, (webSocket) => {
      if (code !== null) this.#closeSocket(webSocket, code)
      webSocket.on('message', (data: Buffer) => code === null && this.#received(webSocket, data))
      webSocket.on('pong', () => this.pongsAtMs.push(this.nowMs))
      webSocket.on('error', (error) => this.record(`socket error: ${error.message}`))
      webSocket.on('close', (closed) => this.record(`the control channel closed with ${closed}`))
    })
  }

  #closeSocket(socket: WebSocket, code: number): void {
    this.record(`master: closes the control channel with ${code}`)
    socket.close(code, 'because')
  }

  #isAccepted(request: IncomingMessage): boolean {
    return this.acceptedToken === null || carriesToken(request, this.acceptedToken)
  }

  #received(socket: WebSocket, data: Buffer): void {
    if (this.closeCode !== null) return
    let frame: WorkerFrame
    try {
      frame = decodeWorkerFrame(data.toString())
    } catch (error) {
      this.onFault(`frame ${brief(data.toString())}: ${(error as Error).message}`)
      return this.#closeSocket(socket, CLOSE.INVALID_FRAME)
    }
    this.record(`worker: frame ${data.toString('utf8', 0, SHOWN_CHARS)}`)
    this.frames.push(frame)
    this.arrivals.push({ frame, bytes: data.byteLength, atMs: this.nowMs, socket })
    const code = frame.type === 'register' ? this.closeAfterRegister.shift() : undefined
    if (code !== undefined) this.#closeSocket(socket, code)
    else if (frame.type === 'ping' && this.respondsToPings) socket.send(JSON.stringify(frame))
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: target = '', headers } = request
    this.requests.push({ method, url: target, headers, atMs: this.nowMs })
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    if (this.silent) return
    if (this.refusal !== null)
      return void response.writeHead(this.refusal.status, this.refusal.headers).end('<html>no</html>')
    const url = new URL(target, 'http://peer')
    if (!this.#isAccepted(request)) return this.#reject(response, url, headers.authorization === undefined ? 401 : 403)
    if (url.pathname.endsWith('/config')) return this.#serveConfig(request, response)
    if (url.pathname.endsWith('/bus')) return this.#serveBus(url, response)
    if (this.rpcStatus !== null) return this.#reject(response, url, this.rpcStatus)
    await this.#serveRpc(Buffer.concat(chunks), request, response)
  }

  #reject(response: ServerResponse, url: URL, status: number): void {
    this.record(`worker: ${url.pathname.slice(url.pathname.lastIndexOf('/'))}, rejected with ${status}`)
    response.writeHead(status, this.rpcHeaders).end('{"detail":"no"}')
  }

  #serveConfig(request: IncomingMessage, response: ServerResponse): void {
    this.record(`worker: polls the config; the master has generation ${this.configGen} of epoch ${this.epoch}`)
    if (this.configStatus !== null) return void response.writeHead(this.configStatus).end('{"detail":"no"}')
    const etag = `"${this.epoch}.${this.configGen}"`
    if (this.respondsNotModified && request.headers['if-none-match'] === etag)
      return void response.writeHead(304, { etag }).end()
    response
      .writeHead(200, { 'content-type': 'application/json', etag, 'muster-epoch': this.epoch })
      .end(JSON.stringify({ ...this.configExtras, config: this.config, config_gen: this.configGen }))
  }

  #serveBus(url: URL, response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(': listening\n\n')
    this.busStreams.push({ topic: url.searchParams.get('topic') ?? '', response })
  }

  async #serveRpc(bytes: Buffer, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = readCalls(bytes.toString())
    if (body === null) {
      this.onFault('the body of a request to /rpc is not JSON-RPC: it needs a method, and params that are an object')
      return void response.writeHead(400).end('{"detail":"the body is not JSON-RPC"}')
    }
    const calls = Array.isArray(body) ? body : [body]
    this.rpcBodies.push(calls.length)
    for (const { method, params } of calls) this.record(`worker: ${method} ${brief(JSON.stringify(params))}`)
    const acceptsLines = request.headers.accept?.includes(LINES_TYPE) === true
    if (calls.some(isStreamed) && !(acceptsLines && Array.isArray(body) && this.features.includes('stream')))
      this.onFault('tasks.reserve: `stream` needs a master that offers it, `Accept` and a list of calls')
    if (acceptsLines && Array.isArray(body)) return this.#serveLines(calls, request, response)
    const responses = await Promise.all(calls.map((call) => this.#respond(call, request)))
    if (response.destroyed || !response.writable) return
    const text = JSON.stringify(Array.isArray(body) ? responses : responses[0])
    const damage = this.damage(calls.map(({ method }) => method))
    if (damage === undefined) return void response.writeHead(200, { 'content-type': 'application/json' }).end(text)
    this.record(`master: the response to ${calls.map(({ method }) => method).join(', ')} is ${damage.kind}`)
    await sendDamaged(response, text, damage)
  }

  #serveLines(calls: readonly RpcRequest[], request: IncomingMessage, response: ServerResponse): Promise<void> {
    const damage = calls.some(isStreamed) ? this.streamDamage() : undefined
    this.record(`master: responds by lines${damage === undefined ? '' : `, damage: ${damage}`}`)
    return serveLines(response, calls, {
      damage,
      heartbeatMs: this.heartbeatMs,
      respond: (call, onTasks) => this.#respond(call, request, onTasks),
      onLost: (tokens) => this.#expire(tokens),
    })
  }

  /** Returns tasks to the queue, as a master does when their leases have expired. */
  #expire(tokens: readonly number[]): void {
    for (const token of tokens) {
      const task = this.leased.get(token)
      this.leased.delete(token)
      this.lostTokens.add(token)
      if (task !== undefined) this.queue({ task_id: task.task_id, payload: task.payload })
    }
  }

  async #respond({ id, method, params }: RpcRequest, request: IncomingMessage, onTasks?: OnTasks): Promise<object> {
    const given = params as Record<string, unknown>
    this.rpcCalls.push({ method, params: given, atMs: this.nowMs })
    const own = this.rpcMethods[method]
    if (own !== undefined) {
      const answer = own(given) as { error?: unknown }
      return answer.error === undefined
        ? { jsonrpc: '2.0', id, result: answer }
        : { jsonrpc: '2.0', id, error: answer.error }
    }
    const [fault] = RPC_VALIDATORS.get(method)?.(given) ?? []
    if (fault !== undefined) {
      this.onFault(`${method}: ${fault.path} ${fault.message}`)
      return errorResponse(id, 'invalid_params', fault.message)
    }
    if (!TASK_METHODS.has(method)) {
      this.onFault(`${method}: this method does not exist, or is not used by this automation`)
      return errorResponse(id, 'method_not_found', `there is no method ${method}`)
    }
    return {
      jsonrpc: '2.0',
      id,
      result:
        method === 'tasks.reserve'
          ? { ...this.resultExtras, tasks: await this.#reserves.serve(given, request.socket, onTasks) }
          : this.#settle(method, given),
    }
  }

  #lease({ token: wanted, ...task }: WireTask): { readonly token: number } {
    this.#token = Math.max(this.#token + 1, wanted ?? 0)
    const token = wanted ?? this.#token
    this.record(`master: leases task ${task.task_id} with token ${token}`)
    this.leases.push({ ...task, token, atMs: this.nowMs })
    this.leased.set(token, { ...task, token })
    const fields = { attempt: 0, max_attempts: 3, priority: 0, submitted_at: 1, expires_at: this.#expiresAt() }
    return { ...this.resultExtras, ...task, token, ...fields }
  }

  #expiresAt(): number {
    return this.visibilitySeconds === null ? 61 : systemTime.wallMs() / 1_000 + this.visibilitySeconds
  }

  #settle(method: string, params: Record<string, unknown>): object {
    const tasks = params['tasks'] as readonly Settle[]
    if (method === 'tasks.extend') this.extendsAsked += 1
    return {
      ...this.resultExtras,
      results: tasks.map((task) => ({ ...this.resultExtras, ...this.#settleOne(method, task) })),
    }
  }

  #settleOne(method: string, task: Settle): object {
    const isLost = this.lostTokens.has(task.token)
    const atMs = this.nowMs
    if (method === 'tasks.extend') {
      this.extensions.push({ token: task.token, isLost, atMs })
      return isLost ? { ok: false, error: 'lease_lost' } : { ok: true, expires_at: this.#expiresAt() }
    }
    if (isLost) {
      this.record(`master: ${method} of the lost token ${task.token} gets lease_lost`)
      this.settlesOfLost.push({ ...task, method, atMs })
      return { ok: false, error: 'lease_lost' }
    }
    this.settles.push({ ...task, method, atMs })
    this.leased.delete(task.token)
    return method === 'tasks.nack' ? { ok: true, outcome: 'scheduled' } : { ok: true }
  }
}
