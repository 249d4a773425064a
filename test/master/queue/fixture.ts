/**
 * A master without sockets, for tests of queue, streams, pools and rpc: the real parts on the memory backend and on
 * virtual time. Requests pass the checks of the route table and reach the handlers, as over HTTP.
 */
import { Registry as MetricsRegistry } from 'prom-client'
import { Type } from 'typebox'
import type { CatalogEntry } from '../../../src/automation/index.ts'
import type { MasterDeps, MasterSettings, Part } from '../../../src/master/deps.ts'
import { Inspections } from '../../../src/master/inspections/index.ts'
import { StoreEpoch } from '../../../src/master/epoch.ts'
import { createOpenApi } from '../../../src/master/http/index.ts'
import type { JsonBody } from '../../../src/master/http/body.ts'
import { queryReader } from '../../../src/master/http/query.ts'
import { checkedBody } from '../../../src/master/http/serve.ts'
import type { Principal } from '../../../src/master/auth/index.ts'
import { JsonChunks, RawJson, type HandlerResult, type Route, type StreamBody } from '../../../src/master/http/route.ts'
import { createPools, PoolWaiters } from '../../../src/master/pools/index.ts'
import { Queue } from '../../../src/master/queue/index.ts'
import { createRpc } from '../../../src/master/rpc/index.ts'
import { createStreams, type Streams } from '../../../src/master/streams/index.ts'
import {
  compileValidator,
  ERRORS,
  FleetError,
  SCOPED_PERMISSIONS,
  type Permission,
  type BaseConfig,
  type JsonSchema,
  type RpcMethod,
  type RpcParams,
  type RpcResult,
} from '../../../src/protocol/index.ts'
import { seededRandom, VirtualTime } from '../../../src/runtime/index.ts'
import { MemoryBackend } from '../../../src/storage/memory/index.ts'
import type { Backend } from '../../../src/storage/index.ts'
import { Contract, type OpenApi } from '../../openapi/contract.ts'
import { recordingLog, type RecordingLog } from '../../kit/index.ts'

const MAIL = Type.Object(
  { to: Type.String({ minLength: 3 }), lines: Type.Optional(Type.Array(Type.String())) },
  { additionalProperties: false },
)
const SENT = Type.Object({ sent: Type.Integer() }, { additionalProperties: false })
/** TypeBox schemas are JSON Schema. */
const plain = (schema: object): JsonSchema => schema as JsonSchema
const BASE: BaseConfig = { enabled: true, slots: 1, max_attempts: 3, recycle_seconds: 0 }
const accept = (): [] => []

/** A catalog entry as plugin loading creates it. */
export function entryOf(type: string, more: Partial<CatalogEntry> = {}): CatalogEntry {
  return {
    type,
    name: type,
    kind: 'BatchAutomation',
    configSchema: {},
    validateConfig: accept,
    defaults: BASE as CatalogEntry['defaults'],
    secrets: [],
    outputSchema: plain(SENT),
    validateOutput: compileValidator(SENT),
    payloadSchema: plain(MAIL),
    validatePayload: compileValidator(MAIL),
    pools: new Map(),
    visibilityMs: 60_000,
    retry: { baseMs: 1_000, factor: 2, capMs: 300_000 },
    run: () => {},
    ...more,
  }
}

const ACCOUNT = Type.Object({ login: Type.String() }, { additionalProperties: false })
const REGION = Type.Object(
  { region: Type.Optional(Type.String()), tier: Type.Optional(Type.Integer()) },
  { additionalProperties: false },
)
const accounts = {
  payloadSchema: plain(ACCOUNT),
  tagsSchema: plain(REGION),
  validatePayload: compileValidator(ACCOUNT),
  validateTags: compileValidator(REGION),
}

/** Shared by all worlds: the document depends only on the route table. */
let contract: Contract | undefined

export interface QueueFixtureOptions {
  readonly settings?: Partial<MasterSettings>
  readonly entries?: readonly CatalogEntry[]
  readonly isSampling?: () => boolean
  readonly isSweeping?: (type: string) => boolean
  /** Wraps the store, to make it fail or to observe it. */
  readonly backend?: (real: Backend) => Backend
}
export interface QueueResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly json: unknown
}
export interface CallOptions {
  readonly body?: unknown
  readonly role?: Principal['role']
  readonly key?: string
  readonly signal?: AbortSignal
}
export type RpcReply<M extends RpcMethod> =
  | { id: unknown; result: RpcResult<M>; error?: never }
  | { id: unknown; result?: never; error: { code: number; message: string; data: Record<string, unknown> } }

export class QueueFixture {
  readonly time = new VirtualTime()
  readonly log: RecordingLog = recordingLog()
  readonly deps: MasterDeps
  readonly queue: Queue
  readonly streams: Streams
  readonly #parts: readonly Part[]

  static async open(options: QueueFixtureOptions = {}): Promise<QueueFixture> {
    const fixture = new QueueFixture(options)
    await fixture.deps.backend.open(AbortSignal.timeout(5_000))
    for (const part of fixture.#parts) await part.start?.()
    return fixture
  }

  private constructor({
    settings = {},
    entries,
    isSampling,
    isSweeping,
    backend = (real) => real,
  }: QueueFixtureOptions) {
    const random = seededRandom(7)
    const catalog = entries ?? [
      entryOf('mailer', { pools: new Map([['accounts', accounts]]) }),
      entryOf('feed', { kind: 'ContinuousAutomation', payloadSchema: null, validatePayload: null }),
    ]
    const store = backend(new MemoryBackend({ clock: this.time, random }))
    const metrics = new MetricsRegistry()
    this.deps = {
      inspections: new Inspections({ clock: this.time, timers: this.time, metrics }),
      clock: this.time,
      timers: this.time,
      random,
      masterId: 'm1',
      metrics,
      log: this.log,
      backend: store,
      epoch: new StoreEpoch(store),
      catalog: new Map(catalog.map((entry) => [entry.type, entry])),
      settings: {
        submitRpsPerToken: 0,
        idempotencyTtlSeconds: 86_400,
        maxBodyBytes: 1_048_576,
        maxLostLeases: 10,
        maxQueueLength: 5_000_000,
        maxSockets: 1_000,
        ...settings,
      },
    }
    this.queue = new Queue({
      ...this.deps,
      ...(isSampling !== undefined && { isSampling }),
      ...(isSweeping !== undefined && { isSweeping }),
      isOverloaded: () => false,
      makeCapacity: () => Promise.resolve(false),
    })
    this.streams = createStreams(this.deps)
    const waiters = new PoolWaiters(this.deps.clock)
    const rpc = createRpc(this.deps, this.queue, waiters)
    this.#parts = [this.queue, this.streams, createPools(this.deps, waiters), rpc]
  }

  async close(): Promise<void> {
    for (const part of this.#parts) await part.stop?.()
    await this.deps.backend.close()
  }

  /** Registers workers in the store. `config` overrides their default config. */
  async workers(ids: readonly string[], config: Partial<BaseConfig> = {}, type = 'mailer'): Promise<void> {
    const defaults = JSON.stringify({ ...BASE, ...config })
    await this.deps.backend.workers.register(
      ids.map((id) => ({ type, id, conn: `m1/${id}`, instance: id, hardware: '{}', defaults })),
    )
  }

  /** Drains a worker like the drain route: stores the drain, then ends the reserves that wait. */
  async drain(id: string, type = 'mailer'): Promise<void> {
    await this.deps.backend.workers.drain([{ type, id }])
    this.queue.dismissWaiters({ type, id })
  }

  /**
   * Sends one request; `path` begins after /api/v1. @throws {TypeError} if the response violates the OpenAPI document.
   */
  async call(method: string, path: string, options: CallOptions = {}): Promise<QueueResponse> {
    const reply = await this.#reply(method, path, options)
    const { status, headers, json } = reply
    // The headers that the HTTP server adds to the result of a handler.
    const added = {
      'content-type': 'application/json',
      'muster-request-id': 'r',
      'muster-epoch': 'e',
      ...(status === 503 ? { 'retry-after': '1' } : {}),
    }
    const faults = (await this.#contract()).faultsOf({
      method,
      path: new URL(`http://localhost/api/v1${path}`).pathname,
      status,
      headers: new Headers({ ...added, ...headers }),
      text: json === null ? '' : JSON.stringify(json),
    })
    if (faults.length > 0) throw new TypeError(faults.join('\n'))
    return reply
  }

  async #contract(): Promise<Contract> {
    if (contract === undefined) {
      const { body } =
        (await createOpenApi(
          this.#parts.flatMap((part) => part.routes),
          '0',
        ).routes[0]?.handle(undefined as never)) ?? {}
      contract = new Contract(JSON.parse(String(body)) as OpenApi)
    }
    return contract
  }

  async #reply(method: string, path: string, options: CallOptions): Promise<QueueResponse> {
    try {
      const { status = 200, headers = {}, body } = await this.#handle(method, path, options)
      return { status, headers, json: jsonOf(body) }
    } catch (error) {
      if (!(error instanceof FleetError)) throw error
      const { retryAfterSeconds: after } = error
      return {
        status: ERRORS[error.code].status,
        headers: after === undefined ? {} : { 'retry-after': String(after) },
        json: { detail: error.detail },
      }
    }
  }

  /** Opens a stream. `chunks` collects what it has written; abort the signal to end it. */
  async stream(
    path: string,
    signal: AbortSignal,
    write: (chunk: string) => boolean = () => true,
  ): Promise<{ readonly chunks: string[]; readonly ended: Promise<void> }> {
    const { body } = await this.#handle('GET', path, { role: 'worker', signal })
    const chunks: string[] = []
    const ended = (body as StreamBody).pipe(
      (chunk) => {
        chunks.push(String(chunk))
        return write(String(chunk))
      },
      signal,
      async () => {},
    )
    return { chunks, ended }
  }

  /**
   * Sends an rpc request that accepts lines. `lines` collects the lines that were written.
   * @param write Called with each chunk and the function that marks it as passed to the network; by default all are.
   */
  async rpcLines(
    worker: string,
    body: unknown,
    signal: AbortSignal,
    write: (chunk: string, onFlushed: () => void) => void = (_, onFlushed) => onFlushed(),
  ): Promise<{ readonly lines: string[]; readonly ended: Promise<void> }> {
    const path = `/automations/mailer/workers/${worker}/rpc`
    const header = (name: string): string | undefined => (name === 'accept' ? 'application/x-ndjson' : undefined)
    const result = await this.#handle('POST', path, { body, role: 'worker', signal }, header)
    const lines: string[] = []
    const ended = (result.body as StreamBody).pipe(
      (chunk, onFlushed = () => {}) => {
        lines.push(String(chunk).trimEnd())
        write(String(chunk), onFlushed)
        return true
      },
      signal,
      async () => {},
    )
    return { lines, ended }
  }

  async #handle(
    method: string,
    path: string,
    { body, role, key = 't', signal = new AbortController().signal }: CallOptions,
    header: (name: string) => string | undefined = () => undefined,
  ): Promise<HandlerResult> {
    const { pathname, search } = new URL(`http://localhost/api/v1${path}`)
    const { route, params } = this.#find(method, pathname)
    const received =
      route.body === undefined
        ? { body: undefined, exactBody: undefined }
        : checkedBody(route, compileValidator(route.body), receivedJson(body))
    const wanted = role ?? (route.access === 'worker' ? 'worker' : 'admin')
    return await route.handle({
      params,
      ...received,
      signal,
      header,
      principal:
        wanted === 'scoped'
          ? {
              role: wanted,
              key,
              id: key,
              grants: [{ types: new Set(['*']), permissions: new Set<Permission>(SCOPED_PERMISSIONS), workers: ['*'] }],
            }
          : { role: wanted, key, id: key },
      entry: this.deps.catalog.get(params.type) as CatalogEntry,
      query: route.query === undefined ? {} : queryReader(route.query)(search.slice(1)),
    })
  }

  #find(method: string, path: string): { route: Route; params: { type: string; id: string } } {
    for (const route of this.#parts.flatMap((part) => part.routes)) {
      const match =
        method === route.method
          ? new RegExp(`^${route.path.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`).exec(path)
          : null
      if (match === null) continue
      const params = Object.fromEntries(
        Object.entries(match.groups ?? {}).map(([name, value]) => [name, decodeURIComponent(value)]),
      )
      return { route, params: { type: '', id: '', ...params } }
    }
    throw new FleetError('NOT_FOUND', `no route ${method} ${path}`)
  }

  /** Submits one task with the payload `{to}`. @returns its id. */
  async submit(to = 'a@b', more: object = {}): Promise<string> {
    const { status, json } = await this.call('POST', '/automations/mailer/tasks', {
      body: { payload: { to }, ...more },
    })
    if (status !== 200) throw new Error(`submit: ${status} ${JSON.stringify(json)}`)
    return (json as { task_id: string }).task_id
  }

  /** Sends the body of an rpc request unchanged. */
  async post(
    worker: string,
    body: unknown,
    { signal, type = 'mailer' }: { signal?: AbortSignal; type?: string } = {},
  ): Promise<QueueResponse> {
    return this.call('POST', `/automations/${type}/workers/${worker}/rpc`, {
      body,
      role: 'worker',
      ...(signal !== undefined && { signal }),
    })
  }

  /** Sends one call that must succeed. */
  async rpc<M extends RpcMethod>(
    worker: string,
    method: M,
    params: RpcParams<M>,
    options: { signal?: AbortSignal; type?: string } = {},
  ): Promise<RpcResult<M>> {
    const { error, result } = await this.tryRpc(worker, method, params, options)
    if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`)
    return result
  }

  async tryRpc<M extends RpcMethod>(
    worker: string,
    method: M,
    params: unknown,
    options: { signal?: AbortSignal; type?: string } = {},
  ): Promise<RpcReply<M>> {
    const { status, json } = await this.post(worker, { jsonrpc: '2.0', id: 1, method, params }, options)
    if (status !== 200) throw new Error(`${method}: HTTP ${status} ${JSON.stringify(json)}`)
    return json as RpcReply<M>
  }

  /** Reserves without waiting. */
  async take(worker: string, limit = 1): Promise<RpcResult<'tasks.reserve'>['tasks']> {
    return (await this.rpc(worker, 'tasks.reserve', { limit })).tasks
  }

  async place(id: string): Promise<string> {
    const { status, json } = await this.call('GET', `/automations/mailer/tasks/${encodeURIComponent(id)}`)
    return status === 404 ? 'gone' : (json as { place: string }).place
  }

  async metric(name: string): Promise<string | undefined> {
    return (await this.deps.metrics.metrics())
      .split('\n')
      .find((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
  }
}

/** @returns a body as the HTTP server reads it. An absent body reads as an empty object. */
function receivedJson(body: unknown = {}): JsonBody {
  const text = JSON.stringify(body)
  return { text, document: JSON.parse(text) as unknown }
}

function jsonOf(body: unknown): unknown {
  if (body instanceof RawJson) return JSON.parse(body.text) as unknown
  if (!(body instanceof JsonChunks)) return JSON.parse(JSON.stringify(body ?? null)) as unknown
  body.onSent()
  return JSON.parse(Buffer.concat(body.chunks).toString()) as unknown
}

export const UNAVAILABLE = new FleetError('STORAGE_UNAVAILABLE', 'the store at /its/path is unavailable', {
  retryAfterSeconds: 2,
  outcome: 'not_sent',
})

/** Lets pending work settle, without advancing the time. */
export const settled = (fixture: QueueFixture): Promise<void> => fixture.time.advance(0)
