/**
 * A small master for tests of registry and control: the real parts on the memory backend and on virtual time, with a
 * listening HTTP server and real WebSocket clients.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Registry as MetricsRegistry } from 'prom-client'
import { Type } from 'typebox'
import { WebSocket, type ClientOptions } from 'ws'
import type { Catalog, CatalogEntry } from '../../../src/automation/index.ts'
import { createControl, type Control } from '../../../src/master/control/index.ts'
import type { MasterDeps, Part } from '../../../src/master/deps.ts'
import { MasterReleases } from '../../../src/master/master-releases.ts'
import { Inspections } from '../../../src/master/inspections/index.ts'
import { StoreEpoch } from '../../../src/master/epoch.ts'
import { createOpenApi } from '../../../src/master/http/index.ts'
import { queryReader } from '../../../src/master/http/query.ts'
import type { Principal } from '../../../src/master/auth/index.ts'
import { JsonChunks, RawJson, type HandlerResult, type Route, type StreamBody } from '../../../src/master/http/route.ts'
import { createRegistry, type Registry } from '../../../src/master/registry/index.ts'
import type { OutputSink } from '../../../src/master/streams/sink.ts'
import {
  compileValidator,
  configSchemaOf,
  defaultsOf,
  FleetError,
  ERRORS,
  secretPathsOf,
  type BaseConfig,
  type FieldError,
  type JsonObject,
  type JsonSchema,
  type Output,
} from '../../../src/protocol/index.ts'
import { seededRandom, VirtualTime } from '../../../src/runtime/index.ts'
import { MemoryBackend } from '../../../src/storage/memory/index.ts'
import { itemsOf, type Backend, type Ref } from '../../../src/storage/index.ts'
import { recordingLog, type RecordingLog } from '../../kit/index.ts'

export const WORKER_TOKEN = 'worker-token-of-the-fleet'
export const ADMIN_TOKEN = 'admin-token-of-the-fleet'

const MAILER_CONFIG = Type.Object({
  interval: Type.Optional(Type.Number({ minimum: 1, default: 5 })),
  note: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  label: Type.Optional(Type.String({ maxLength: 400_000 })),
  api_key: Type.Optional(Type.String({ writeOnly: true, minLength: 4 })),
  smtp: Type.Optional(
    Type.Object({ host: Type.String(), password: Type.String({ writeOnly: true }) }, { additionalProperties: false }),
  ),
  vault: Type.Optional(Type.Object({ pin: Type.Integer() }, { additionalProperties: false, writeOnly: true })),
})

/** A catalog entry as plugin loading creates it. */
export function entryOf(type: string, config: JsonSchema = { ...MAILER_CONFIG }): CatalogEntry {
  const configSchema = configSchemaOf(config)
  return {
    type,
    name: type,
    kind: 'BatchAutomation',
    configSchema,
    validateConfig: compileValidator(configSchema),
    defaults: defaultsOf(configSchema) as BaseConfig & JsonObject,
    secrets: secretPathsOf(configSchema),
    outputSchema: null,
    validateOutput: () => [],
    payloadSchema: null,
    validatePayload: null,
    pools: new Map(),
    visibilityMs: 60_000,
    retry: { baseMs: 1_000, factor: 2, capMs: 300_000 },
    run: () => {},
  }
}

/** Records outputs. The test sets the types for which it is full. */
class TestSink implements OutputSink {
  readonly taken: { type: string; workerId: string; outputs: readonly Output[] }[] = []
  readonly #full = new Set<string>()
  readonly #listeners = new Set<() => void>()

  accept(type: string, workerId: string, outputs: readonly Output[]): void {
    this.taken.push({ type, workerId, outputs })
  }
  full(type: string): boolean {
    return this.#full.has(type)
  }
  onRelief(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }
  fill(type: string): void {
    this.#full.add(type)
  }
  relieve(type: string): void {
    this.#full.delete(type)
    for (const listener of this.#listeners) listener()
  }
  get payloads(): readonly unknown[] {
    return this.taken.flatMap(({ outputs }) => outputs.map(({ payload }) => payload))
  }
}

export interface RegistryResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: unknown
}

export class RegistryFixture {
  readonly time = new VirtualTime()
  readonly sink = new TestSink()
  readonly drains: Ref[] = []
  readonly log: RecordingLog = recordingLog()
  readonly validTokens = new Map<string, Principal>([
    [WORKER_TOKEN, { role: 'worker', key: 'w', id: 'w' }],
    [ADMIN_TOKEN, { role: 'admin', key: 'a', id: 'a' }],
  ])
  readonly deps: MasterDeps
  readonly registry: Part & Registry
  readonly control: Control
  readonly #beatListeners: ((alive: readonly string[]) => void)[] = []
  readonly #server: Server
  readonly #clients: WorkerClient[] = []

  static async open(
    options: {
      backend?: (real: Backend) => Backend
      catalog?: Catalog
      masterId?: string
      maxSockets?: number
      shared?: RegistryFixture
    } = {},
  ): Promise<RegistryFixture> {
    const fixture = new RegistryFixture(options)
    if (options.shared === undefined) await fixture.deps.backend.open(AbortSignal.timeout(5_000))
    await fixture.beat()
    fixture.time.every(5_000, () => void fixture.beat())
    await fixture.registry.start?.()
    await fixture.control.start?.()
    fixture.#server.listen(0, '127.0.0.1')
    await once(fixture.#server, 'listening')
    return fixture
  }

  private constructor({
    backend = (real) => real,
    catalog,
    masterId = 'm1',
    maxSockets = 10_000,
    shared,
  }: {
    backend?: (real: Backend) => Backend
    catalog?: Catalog
    masterId?: string
    maxSockets?: number
    shared?: RegistryFixture
  }) {
    const random = seededRandom(7)
    const store = shared === undefined ? backend(new MemoryBackend({ clock: this.time, random })) : shared.deps.backend
    const metrics = new MetricsRegistry()
    this.deps = {
      inspections: new Inspections({ clock: this.time, timers: this.time, metrics }),
      clock: this.time,
      timers: this.time,
      random,
      masterId,
      metrics,
      log: this.log,
      backend: store,
      epoch: new StoreEpoch(store),
      catalog:
        catalog ??
        new Map([
          ['mailer', entryOf('mailer')],
          ['feed', entryOf('feed')],
        ]),
      settings: {
        submitRpsPerToken: 0,
        idempotencyTtlSeconds: 86_400,
        maxBodyBytes: 1_048_576,
        maxLostLeases: 10,
        maxQueueLength: 5_000_000,
        maxSockets,
      },
    }
    this.registry = createRegistry(this.deps, {
      onDrain: (ref) => void this.drains.push(ref),
      mayBatch: () => true,
      worstWorkers: async () => new Map(),
    })
    this.control = createControl({
      ...this.deps,
      registry: this.registry,
      sink: this.sink,
      identify: (token) => this.validTokens.get(token),
      masters: { onBeat: (listener) => void this.#beatListeners.push(listener) },
      releases: new MasterReleases('0.2.0', 1),
    })
    this.#server = createServer((request, response) => void this.#serve(request, response))
    this.#server.on('upgrade', (request, socket, head) => this.control.upgrade(request, socket, head))
  }

  async close(): Promise<void> {
    for (const client of this.#clients) client.socket.terminate()
    await this.control.stop?.()
    await this.registry.stop?.()
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
    await this.deps.backend.close()
  }

  /** Writes the heartbeat of this master, as master.ts does. */
  async beat(): Promise<void> {
    const alive = await this.deps.backend.meta.beat(this.deps.masterId).catch(() => null)
    if (alive !== null) for (const listener of this.#beatListeners) listener(alive)
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Connects without registering. */
  connect(
    id: string,
    {
      type = 'mailer',
      token = WORKER_TOKEN,
      query = '',
      ...options
    }: ClientOptions & { type?: string; token?: string | null; query?: string } = {},
  ): WorkerClient {
    const headers = token === null ? {} : { authorization: `Bearer ${token}` }
    const path = `/api/v1/automations/${type}/workers/${encodeURIComponent(id)}/control${query}`
    const url = `ws://127.0.0.1:${this.port}${path}`
    const client = new WorkerClient(new WebSocket(url, { perMessageDeflate: false, headers, ...options }))
    this.#clients.push(client)
    return client
  }

  /** Connects, registers, and waits for the response of the master. */
  async worker(
    id: string,
    { instance, type = 'mailer' }: { instance?: string; type?: string } = {},
  ): Promise<WorkerClient> {
    const client = this.connect(id, { type })
    await client.opened
    client.send(registerFrame(id, { type, ...(instance !== undefined && { instance }) }))
    await client.settled()
    return client
  }

  /** Registers a worker only in the store, as if another master had its socket. */
  async record(id: string, conn = 'elsewhere/1', type = 'mailer'): Promise<void> {
    const defaults = JSON.stringify(this.deps.catalog.get(type)?.defaults)
    await this.deps.backend.workers.register([
      { type, id, conn, instance: '', hardware: JSON.stringify(HARDWARE), defaults },
    ])
  }

  async call(
    method: string,
    path: string,
    {
      body,
      headers = {},
      token = ADMIN_TOKEN,
    }: { body?: unknown; headers?: Record<string, string>; token?: string } = {},
  ): Promise<RegistryResponse> {
    const response = await fetch(`http://127.0.0.1:${this.port}/api/v1/automations/mailer/workers${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: text === '' ? undefined : (JSON.parse(text) as unknown),
    }
  }

  async get<T = Record<string, unknown>>(path: string): Promise<T> {
    const { status, json, text } = await this.call('GET', path)
    if (status !== 200) throw new Error(`GET ${path}: ${status} ${text}`)
    return json as T
  }

  async patch(id: string, body: unknown, headers: Record<string, string> = {}): Promise<RegistryResponse> {
    return this.call('PATCH', `/${id}/config`, { body, headers })
  }

  async epoch(): Promise<string> {
    return (await this.deps.backend.meta.info()).epoch
  }

  /** Names and data of all events so far. */
  async events(): Promise<readonly { name: string; data: Record<string, unknown> }[]> {
    await this.time.advance(50) // Events are appended at most every 50 ms.
    const read = await this.deps.backend.events.read('', 10_000)
    if (read.kind === 'reset') throw new Error('the event log was reset')
    return read.events.flatMap((entry) =>
      itemsOf(entry).map((data) => ({ name: entry.name, data: JSON.parse(data) as Record<string, unknown> })),
    )
  }

  async metric(name: string): Promise<string | undefined> {
    return (await this.deps.metrics.metrics())
      .split('\n')
      .find((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`))
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.#answer(request, response)
    } catch (error) {
      const known = error instanceof FleetError
      response.writeHead(known ? ERRORS[error.code].status : 500, HEADERS)
      response.end(JSON.stringify({ detail: known ? error.detail : String((error as Error).stack) }))
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', 'http://localhost')
    const found = this.#find(request.method ?? '', url.pathname)
    if (found === undefined) throw new FleetError('NOT_FOUND', 'no such path')
    const { route, params } = found
    if (route.access === 'none') return write(await route.handle(undefined as never), response)
    const principal = this.validTokens.get(request.headers.authorization?.slice('Bearer '.length) ?? '')
    if (principal === undefined || (route.access === 'worker') !== (principal.role === 'worker'))
      throw new FleetError('FORBIDDEN', 'not allowed')
    const entry = this.deps.catalog.get(params.type)
    if (entry === undefined) throw new FleetError('NOT_FOUND', 'no such type')
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString()
    const answer = await route.handle({
      params,
      principal,
      entry,
      signal: new AbortController().signal,
      query: route.query === undefined ? {} : queryReader(route.query)(url.search),
      body: text === '' ? undefined : (JSON.parse(text) as unknown),
      exactBody: undefined,
      header: (name) => request.headers[name]?.toString(),
    })
    await write(answer, response)
  }

  #find(method: string, path: string): { route: Route; params: { type: string; id: string } } | undefined {
    const routes = [...this.registry.routes, ...this.control.routes]
    for (const route of [...routes, ...createOpenApi(routes, '0').routes]) {
      const pattern = new RegExp(`^${route.path.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`)
      const found = method === route.method ? pattern.exec(path) : null
      if (found !== null)
        return {
          route,
          params: { type: found.groups?.['type'] ?? '', id: decodeURIComponent(found.groups?.['id'] ?? '') },
        }
    }
    return undefined
  }
}

/** The headers of a real master, because responses are checked against its OpenAPI document. */
const HEADERS = { 'content-type': 'application/json', 'muster-request-id': 'r', 'muster-epoch': 'e' }

async function write({ status = 200, headers = {}, body }: HandlerResult, response: ServerResponse): Promise<void> {
  response.writeHead(status, { ...HEADERS, ...headers })
  if (body instanceof RawJson) response.end(body.text)
  else if (body instanceof JsonChunks) response.end(Buffer.concat(body.chunks), body.onSent)
  else if (typeof body === 'string' || body instanceof Uint8Array) response.end(body)
  else if (typeof body === 'object' && body !== null && 'pipe' in body) {
    await (body as StreamBody).pipe(
      (chunk) => response.write(chunk),
      new AbortController().signal,
      () => once(response, 'drain').then(() => {}),
    )
    response.end()
  } else response.end(body === undefined ? undefined : JSON.stringify(body))
}

export const HARDWARE = { cores: 2, ram_gb: 4, hostname: 'node-7', kernel: '6.1' }

export function registerFrame(
  id: string,
  { type = 'mailer', instance, ...more }: { type?: string; instance?: string; [field: string]: unknown } = {},
): object {
  return {
    type: 'register',
    worker_id: id,
    automation_type: type,
    protocol_version: 1,
    hardware: HARDWARE,
    ...(instance !== undefined && { instance_id: instance }),
    ...more,
  }
}

export const stateFrame = (more: object = {}): object => ({
  type: 'state',
  state: 'RUNNING',
  config_gen: 0,
  ts: 1,
  last_error: null,
  ...more,
})
export const statsFrame = (more: object = {}): object => ({
  type: 'stats',
  slots: 1,
  cpu_pct: 2.5,
  rss_mb: 64,
  ts: 1,
  metrics: {},
  ...more,
})
export const outputFrame = (payload: object): object => ({ type: 'output', slot_id: 0, ts: 1, payload })

interface Closed {
  readonly code: number
  readonly reason: string
}

/** The worker side of the control channel. */
export class WorkerClient {
  readonly socket: WebSocket
  readonly opened: Promise<void>
  readonly closed: Promise<Closed>
  /** Frames of the master that the test has not read yet, without the responses to `settled`. */
  readonly frames: Record<string, unknown>[] = []
  pings = 0
  readonly #waiting: (() => void)[] = []
  readonly #barriers = new Map<string, () => void>()
  #barrier = 0

  constructor(socket: WebSocket) {
    this.socket = socket
    socket.on('error', () => {})
    socket.on('ping', () => (this.pings += 1))
    socket.on('message', (data) => this.#receive(JSON.parse((data as Buffer).toString()) as Record<string, unknown>))
    this.opened = new Promise((resolve, reject) => {
      socket.once('open', resolve)
      socket.once('error', reject)
    })
    this.opened.catch(() => {}) // Some tests expect the error elsewhere.
    this.closed = new Promise(
      (resolve) => void socket.once('close', (code, reason) => resolve({ code, reason: reason.toString() })),
    )
  }

  #receive(frame: Record<string, unknown>): void {
    const barrier = frame['type'] === 'ping' ? this.#barriers.get(String(frame['id'])) : undefined
    if (barrier !== undefined) return barrier()
    this.frames.push(frame)
    this.#waiting.shift()?.()
  }

  send(frame: object): void {
    this.socket.send(JSON.stringify(frame))
  }

  /** Sends a ping and waits for the response: the master has then handled all earlier frames. */
  async settled(): Promise<void> {
    const id = `barrier-${++this.#barrier}`
    const answered = new Promise<void>((resolve) => this.#barriers.set(id, resolve))
    this.send({ type: 'ping', id })
    const ended = this.closed.then(({ code, reason }) => Promise.reject(new Error(`closed instead: ${code} ${reason}`)))
    await Promise.race([answered, ended])
  }

  /** The next frame of the master. */
  async next(): Promise<Record<string, unknown>> {
    while (this.frames.length === 0) await new Promise<void>((resolve) => void this.#waiting.push(resolve))
    return this.frames.shift() ?? {}
  }

  async close(): Promise<void> {
    this.socket.close()
    await this.closed
  }
}

export type Detail = readonly FieldError[]
