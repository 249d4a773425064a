/**
 * @module test/conformance/fixture
 * Fixture of the conformance tests: a whole master on each kind of store, with real HTTP and WebSockets. Only the test
 * advances the time. Nothing here uses the project's schemas or constants: requests and frames are written by hand, as
 * a client would that knows only the contract. When a fixture closes, its log, metrics, events, streams and frames are
 * searched for its tokens and for the secret fields that the test PATCHed.
 */
import { afterEach, describe, expect, jest } from '@jest/globals'
import { once } from 'node:events'
import { WebSocket, type ClientOptions } from 'ws'
import { buildCatalog, defineBatch, defineContinuous } from '../../src/automation/index.ts'
import { startMaster, type RunningMaster } from '../../src/master/index.ts'
import { seededRandom, VirtualTime, type Clock } from '../../src/runtime/index.ts'
import type { Backend } from '../../src/storage/index.ts'
import { MemoryBackend } from '../../src/storage/memory/index.ts'
import { canaries } from '../kit/canary.ts'
import { eventually, type LogLine, recordingLog } from '../kit/index.ts'
import { learnSecrets, scanMaster } from '../kit/outputs.ts'
import { withRedisStore } from '../storage/redis/fixture.ts'
import { backendOn, folders } from '../storage/sqlite/fixture.ts'

export const SECOND = 1_000
/** Nothing takes long, but the machine may be busy. */
const WITHIN_MS = 15_000
jest.setTimeout(2 * WITHIN_MS)

export const API = '/api/v1'
export const ADMIN = canaries.create('admin')
export const WORKER = canaries.create('worker')
/** Accepted together with {@link WORKER}, as during a rotation. */
export const WORKER_PEER = canaries.create('worker-peer')
/** Covers `mailer`. */
export const SCOPED = canaries.create('mailer')
/** Covers `probe`. */
export const OTHER = canaries.create('probe')
/** Covers `*`. */
export const EVERY = canaries.create('every-type')

const run = async (): Promise<void> => {}
const object = (properties: Record<string, object>, required: readonly string[] = []) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})
const PAYLOAD = object({ to: { type: 'string' } }, ['to'])
const SENT = object({ sent: { type: 'boolean' } }, ['sent'])
export const SCHEMAS = {
  payload: PAYLOAD,
  output: SENT,
  pool: object({ user: { type: 'string' } }, ['user']),
  tags: object({ region: { type: 'string' } }),
}

const AUTOMATIONS = [
  defineBatch({
    type: 'mailer',
    payload: PAYLOAD,
    output: SENT,
    pools: { accounts: { payload: SCHEMAS.pool, tags: SCHEMAS.tags } },
    run,
    config: object({
      host: { type: 'string', default: 'localhost' },
      note: { type: ['string', 'null'] },
      limits: { type: 'object' },
      password: { type: 'string', writeOnly: true, minLength: 4 },
      smtp: object({ user: { type: 'string' }, pin: { type: 'string', writeOnly: true } }),
      keys: { type: 'array', items: { type: 'string', writeOnly: true } },
    }),
  }),
  defineBatch({
    type: 'brief',
    payload: { type: 'object' },
    pools: { ids: { payload: { type: 'object' }, tags: { type: 'object' } } },
    visibilityTimeoutSeconds: 5,
    retry: { baseSeconds: 10, factor: 1, capSeconds: 10 },
    run,
  }),
  defineContinuous({ type: 'probe', name: 'Prober', output: { type: 'object' }, run }),
]
const CATALOG = buildCatalog(AUTOMATIONS)
/** A further type, `courier`, whose tasks may have groups. */
const withGroups = (groups: Groups) =>
  buildCatalog([...AUTOMATIONS, defineBatch({ type: 'courier', payload: { type: 'object' }, groups, run })])

interface ConformanceFixtureOptions {
  readonly submitRpsPerToken?: number
  readonly maxBodyBytes?: number
  readonly maxQueueLength?: number
  readonly maxOutcomes?: number
  readonly maxLostLeases?: number
  readonly idempotencyTtlSeconds?: number
}
type Groups = NonNullable<Parameters<typeof defineBatch>[0]['groups']>
// oxlint-disable-next-line typescript/no-explicit-any -- like a client without the types of this project
export type Json = any
interface ConformanceResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: Json
}
interface CallOptions {
  readonly token?: string | null
  readonly body?: unknown
  readonly headers?: Record<string, string>
}
export interface Listening {
  readonly status: number
  readonly contentType: string | null
  readonly text: () => string
  readonly end: () => void
}
export type Open = (options?: ConformanceFixtureOptions, groups?: Groups) => Promise<ConformanceFixture>

/** Runs `tests` on a master with each store. Each fixture is closed after its test. */
export function onEachStore(section: string, tests: (open: Open) => void): void {
  const folder = folders()
  let seed = 0
  const stores: Readonly<Record<string, (time: VirtualTime) => Promise<Backend>>> = {
    memory: async (clock) => new MemoryBackend({ clock, random: seededRandom((seed += 1)) }),
    sqlite: async (time) => backendOn(folder().file, time),
  }
  for (const [store, create] of Object.entries(stores)) describe(`${section} (${store})`, () => tests(opening(create)))
  withRedisStore(`${section} (redis)`, (create: (clock: Clock) => Promise<Backend>) =>
    describe(`${section} (redis)`, () => tests(opening(create))),
  )
}

function opening(create: (time: VirtualTime) => Promise<Backend>): Open {
  const worlds: ConformanceFixture[] = []
  afterEach(async () => {
    for (const fixture of worlds.splice(0)) await fixture.close()
  })
  return async (options = {}, groups) => {
    const time = new VirtualTime()
    const log = recordingLog()
    const { lines } = log
    const backend = await create(time)
    const start = (): Promise<RunningMaster> =>
      startMaster({
        listen: { host: '127.0.0.1', port: 0 },
        clock: time,
        timers: time,
        random: seededRandom(11),
        log,
        backend,
        backendScheme: 'any',
        catalog: groups === undefined ? CATALOG : withGroups(groups),
        version: '1.2.3',
        dashboardDir: null,
        tokens: {
          admin: ADMIN,
          worker: WORKER,
          workerPeers: [WORKER_PEER],
          scopes: new Map([
            [SCOPED, ['mailer']],
            [OTHER, ['probe']],
            [EVERY, ['*']],
          ]),
        },
        settings: {
          submitRpsPerToken: 0,
          idempotencyTtlSeconds: 86_400,
          maxBodyBytes: 1_048_576,
          maxLostLeases: 10,
          maxQueueLength: 5_000_000,
          maxSockets: 1_000,
          ...options,
        },
      })
    const fixture = new ConformanceFixture({ master: await start(), start, time, lines, backend })
    worlds.push(fixture)
    return fixture
  }
}

interface FixtureParts {
  readonly master: RunningMaster
  /** Starts another master with the same options. */
  readonly start: () => Promise<RunningMaster>
  readonly time: VirtualTime
  readonly lines: readonly LogLine[]
  readonly backend: Backend
}

export class ConformanceFixture {
  readonly time: VirtualTime
  readonly lines: readonly LogLine[]
  readonly capabilities: Backend['capabilities']
  readonly #start: () => Promise<RunningMaster>
  #master: RunningMaster
  readonly #workers: Worker[] = []
  readonly #connected: Worker[] = []
  readonly #streams: Listening[] = []
  readonly #backend: Backend

  constructor({ master, start, time, lines, backend }: FixtureParts) {
    this.#master = master
    this.#start = start
    this.time = time
    this.lines = lines
    this.#backend = backend
    this.capabilities = backend.capabilities
  }

  /** Stops the master and starts another one on the same store. Connections of workers end. */
  async restart(): Promise<void> {
    for (const { socket } of this.#workers.splice(0)) socket.terminate()
    const backend = this.#backend as { close: () => Promise<void> }
    const isKept = this.capabilities.durable
    if (!isKept) Object.defineProperty(backend, 'close', { value: async () => {}, configurable: true })
    await this.#master.stop()
    if (!isKept) Reflect.deleteProperty(backend, 'close')
    this.#master = await this.#start()
  }

  get url(): string {
    return this.#master.url
  }
  get routes(): readonly string[] {
    return this.#master.routes.map(({ method, path }) => `${method} ${path}`)
  }
  /** Current time in Unix seconds. */
  get now(): number {
    return this.time.wallMs() / SECOND
  }

  /** Advances the time in steps and lets sockets and stores work after each. */
  async pass(ms: number, step = 5 * SECOND): Promise<void> {
    for (let left = ms; left > 0; left -= step) {
      await this.time.advance(Math.min(step, left))
      await this.call('GET', '/readyz', { token: null })
      await Promise.all(this.#workers.map((worker) => worker.received()))
    }
  }

  /** `token` null: no Authorization header. A string is sent as the body unchanged. */
  async call(
    method: string,
    path: string,
    { token = ADMIN, body, headers = {} }: CallOptions = {},
  ): Promise<ConformanceResponse> {
    learnSecrets(CATALOG, path, body)
    const response = await fetch(this.url + path, {
      method,
      redirect: 'manual',
      headers: {
        ...(token !== null && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    return {
      status: response.status,
      headers: response.headers,
      text,
      body:
        response.headers.get('content-type')?.startsWith('application/json') === true ? JSON.parse(text) : undefined,
    }
  }

  /** A call under `/api/v1/automations` that must return 200. */
  async ok(method: string, path: string, body?: unknown, options: CallOptions = {}): Promise<Json> {
    const answer = await this.call(method, `${API}/automations${path}`, {
      ...options,
      ...(body !== undefined && { body }),
    })
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`)
    return answer.body
  }

  /** The status of a call under `/api/v1/automations`. */
  async status(method: string, path: string, body?: unknown, options: CallOptions = {}): Promise<number> {
    return (await this.call(method, `${API}/automations${path}`, { ...options, ...(body !== undefined && { body }) }))
      .status
  }

  record(id: string, type = 'mailer'): Promise<Json> {
    return this.ok('GET', `/${type}/workers/${id}`)
  }
  patch(id: string, config: object, type = 'mailer'): Promise<Json> {
    return this.ok('PATCH', `/${type}/workers/${id}/config`, config)
  }
  submit(task: object, type = 'mailer'): Promise<Json> {
    return this.ok(
      'POST',
      `/${type}/tasks`,
      type === 'mailer' ? { payload: { to: 'x' }, ...task } : { payload: {}, ...task },
    )
  }

  /** Makes one JSON-RPC call of a worker. @returns its result or its error. */
  async rpc(id: string, method: string, params: object, type = 'mailer'): Promise<Json> {
    const answer = await this.ok(
      'POST',
      `/${type}/workers/${id}/rpc`,
      { jsonrpc: '2.0', id: 1, method, params },
      { token: WORKER },
    )
    return answer.result ?? answer.error
  }
  async reserve(id: string, limit = 1, type = 'mailer'): Promise<Json[]> {
    return (await this.rpc(id, 'tasks.reserve', { limit }, type)).tasks
  }
  /** Settles one reserved task. @returns its result. */
  async settle(
    id: string,
    verb: 'ack' | 'nack' | 'release' | 'extend',
    { task_id, token }: Json,
    more: object = {},
    type = 'mailer',
  ): Promise<Json> {
    const answer = await this.rpc(
      id,
      `tasks.${verb}`,
      { tasks: [{ task_id, token, ...(verb === 'nack' && { error: 'failed' }), ...more }] },
      type,
    )
    if (answer.results === undefined) throw new Error(`tasks.${verb} failed: ${JSON.stringify(answer)}`)
    return answer.results[0]
  }
  /** Returns the state of a task, or 'gone'. */
  async place(taskId: string, type = 'mailer'): Promise<string> {
    const { status, body } = await this.call('GET', `${API}/automations/${type}/tasks/${taskId}`)
    return status === 404 ? 'gone' : body.place
  }
  /** Submits a task and nacks it permanently. @returns its id. */
  async dead(id: string, task: object = {}, type = 'mailer'): Promise<string> {
    await this.submit(task, type)
    const [reserved] = await this.reserve(id, 1, type)
    expect(await this.settle(id, 'nack', reserved, { permanent: true }, type)).toEqual({ ok: true, outcome: 'dead' })
    return reserved.task_id
  }

  /** Connects without registering. Resolves when the socket is open. */
  async connect(
    id: string,
    {
      type = 'mailer',
      token = WORKER,
      query = '',
      ...options
    }: ClientOptions & { type?: string; token?: string | null; query?: string } = {},
  ): Promise<Worker> {
    const address = `${this.url.replace('http', 'ws')}${API}/automations/${type}/workers/${id}/control${query}`
    const worker = new Worker(
      new WebSocket(address, { headers: token === null ? {} : { authorization: `Bearer ${token}` }, ...options }),
      id,
      type,
    )
    this.#connected.push(worker)
    await once(worker.socket, 'open')
    return worker
  }

  /** Connects and registers. Resolves when the record is stored. */
  async worker(
    id: string,
    { type = 'mailer', ...fields }: { type?: string; instance_id?: string; hardware?: object } = {},
  ): Promise<Worker> {
    const worker = await this.connect(id, { type })
    worker.register(fields)
    await worker.received()
    this.#workers.push(worker)
    return worker
  }

  /** Reads an event stream until the fixture closes or `end` is called. */
  async listen(
    path: string,
    { token = ADMIN, headers = {} }: Pick<CallOptions, 'token' | 'headers'> = {},
  ): Promise<Listening> {
    const abort = new AbortController()
    const response = await fetch(this.url + path, {
      headers: { authorization: `Bearer ${token}`, ...headers },
      signal: abort.signal,
    })
    let text = ''
    const read = async (): Promise<void> => {
      for await (const chunk of response.body ?? []) text += new TextDecoder().decode(chunk)
    }
    void read().catch(() => {}) // The read ends when it is aborted.
    const listening = {
      status: response.status,
      contentType: response.headers.get('content-type'),
      text: () => text,
      end: () => abort.abort(),
    }
    this.#streams.push(listening)
    return listening
  }

  async metric(series: string): Promise<string | undefined> {
    const { text } = await this.call('GET', '/metrics', { token: null })
    return text
      .split('\n')
      .find((line) => line.startsWith(`${series} `))
      ?.slice(series.length + 1)
  }

  async close(): Promise<void> {
    await scanMaster({ url: this.url, lines: this.lines, backend: this.#backend })
    for (const stream of this.#streams) stream.end()
    for (const { socket } of this.#workers) socket.terminate()
    await this.#master.stop()
    canaries.scan('the log', this.lines)
    for (const stream of this.#streams) canaries.scan('an event stream', stream.text())
    for (const { frames } of this.#connected) canaries.scan('a control frame', frames)
    canaries.assertNone()
  }
}

export const HARDWARE = { cores: 4, ram_gb: 7.5, hostname: 'node-7', kernel: '6.1.0' }

/** A worker's end of a control channel. It sends frames only on request of the test. */
export class Worker {
  readonly socket: WebSocket
  readonly id: string
  readonly type: string
  /** Frames of the master, except replies to {@link received}. */
  readonly frames: Json[] = []
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>
  readonly #answered = new Set<string>()

  constructor(socket: WebSocket, id: string, type: string) {
    this.socket = socket
    this.id = id
    this.type = type
    socket.on('error', () => {}) // A close event follows.
    socket.on('message', (data: Buffer) => {
      const frame: Json = JSON.parse(data.toString())
      if (frame.type === 'ping' && String(frame.id).startsWith('sync ')) this.#answered.add(frame.id)
      else this.frames.push(frame)
    })
    this.closed = new Promise(
      (resolve) => void socket.once('close', (code, reason) => resolve({ code, reason: reason.toString() })),
    )
  }

  send(frame: object | string): void {
    this.socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame))
  }
  register(fields: object = {}): void {
    this.send({
      type: 'register',
      worker_id: this.id,
      automation_type: this.type,
      protocol_version: 1,
      hardware: HARDWARE,
      ...fields,
    })
  }
  state(fields: object = {}): void {
    this.send({ type: 'state', state: 'RUNNING', config_gen: 0, ts: 1_767_225_600, last_error: null, ...fields })
  }
  stats(fields: object = {}): void {
    this.send({ type: 'stats', slots: 2, cpu_pct: 12.5, rss_mb: 80, ts: 1_767_225_600, metrics: {}, ...fields })
  }
  output(payload: object, fields: object = {}): void {
    this.send({ type: 'output', slot_id: 1, ts: 1_767_225_600, payload, ...fields })
  }

  /** Resolves when the master has processed everything sent so far, or immediately if the socket is closed. */
  async received(): Promise<void> {
    if (this.socket.readyState !== WebSocket.OPEN) return
    const id = `sync ${this.#answered.size + 1}`
    this.send({ type: 'ping', id })
    await eventually(() => this.#answered.has(id) || this.socket.readyState === WebSocket.CLOSED)
  }

  /** Waits for the next frame of this type and removes it from `frames`. */
  async next(type: string): Promise<Json> {
    await eventually(() => this.frames.some((frame) => frame.type === type))
    return (
      this.frames.splice(
        this.frames.findIndex((frame) => frame.type === type),
        1,
      )[0] ?? {}
    )
  }
}

/** Polls until the result of `read` matches this shape. */
export async function eventuallyMatches<T>(read: () => Promise<T>, shape: object): Promise<T> {
  let seen: T | undefined
  await eventually(async () => {
    seen = await read()
    return expect.objectContaining(shape).asymmetricMatch(seen)
  }).catch(() => expect(seen).toMatchObject(shape))
  return seen as T
}
