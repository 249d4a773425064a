/**
 * @module test/dashboard/browser/studio-fixture
 * A master in this process with an automation whose config has every kind of field, an hour of statistics, and workers
 * that are only sockets. They apply every config that they receive, unless a test disables this.
 */
import { once } from 'node:events'
import { afterEach, beforeEach } from '@jest/globals'
import type { BrowserContextOptions } from 'playwright-core'
import { buildCatalog, defineBatch, Type } from '../../../src/automation/index.ts'
import type { RunningMaster } from '../../../src/master/index.ts'
import { systemRandom, systemTime } from '../../../src/runtime/index.ts'
import { MemoryBackend } from '../../../src/storage/memory/index.ts'
import { ADMIN_TOKEN, WORKER_TOKEN } from '../../e2e/fleet.ts'
import { startPageMaster } from './page-master.ts'
import { CHROMIUM, signedIn, type Opened } from './watched.ts'

export const STUDIO_TOKEN = 'scoped-studio-of-the-browser-test'
const FRAMES = 240
const FRAME_SECONDS = 15

const secret = Type.String({ writeOnly: true })
/** A schema with every keyword that the form supports, and one part that it shows as JSON. */
const config = Type.Object(
  {
    host: Type.String({
      title: 'SMTP host',
      description: 'Where mail goes out.',
      default: 'smtp.old.example.net',
      maxLength: 200,
    }),
    port: Type.Integer({ default: 465, minimum: 1, maximum: 65_535 }),
    ratio: Type.Optional(
      Type.Number({ exclusiveMinimum: 0, maximum: 1, description: 'Share of mail that is sampled.' }),
    ),
    mode: Type.Enum(['fast', 'safe'], { default: 'safe', description: 'Safe waits for every answer.' }),
    dry: Type.Optional(Type.Boolean({ description: 'Send nothing.' })),
    limit: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
      default: 100,
      description: 'Mail a minute; null is no limit.',
    }),
    from: Type.Optional(Type.String({ pattern: '^[^@]+@[^@]+$', examples: ['ops@example.net'] })),
    targets: Type.Array(Type.String({ maxLength: 40 }), { default: [], maxItems: 5 }),
    proxy: Type.Optional(Type.Object({ url: Type.String(), password: Type.Optional(secret) })),
    retry: Type.Union(
      [
        Type.Object({ kind: Type.Literal('fixed'), seconds: Type.Integer({ minimum: 1 }) }, { title: 'Fixed' }),
        Type.Object({ kind: Type.Literal('grow'), base: Type.Number() }, { title: 'Growing' }),
      ],
      { default: { kind: 'fixed', seconds: 5 } },
    ),
    at: Type.Optional(Type.String({ format: 'date-time' })),
    leap: Type.Optional(Type.String({ format: 'date-time' })),
    day: Type.Optional(Type.String({ format: 'date' })),
    hour: Type.Optional(Type.String({ format: 'time' })),
    login: Type.Optional(
      Type.Union([
        Type.Object({ token: secret }, { title: 'Token' }),
        Type.Object({ user: Type.String(), password: secret }, { title: 'Password' }),
      ]),
    ),
    headers: Type.Optional(Type.Record(Type.String(), Type.String())),
    password: Type.Optional(secret),
  },
  { additionalProperties: false },
)

/** Text of a plugin that must not be executed. */
export const HOSTILE = '<img src=x onerror="window.ran=1"><script>window.ran=1</script>\u202Eevil\u0007'
const evil = Type.Object({
  plain: Type.String({
    title: HOSTILE,
    description: HOSTILE + 'x'.repeat(10_000),
    default: HOSTILE,
    examples: [HOSTILE],
  }),
  ['n'.repeat(200)]: Type.Optional(Type.Enum([HOSTILE, 'safe'], { title: HOSTILE })),
  either: Type.Optional(
    Type.Union([
      Type.Object({ a: Type.String() }, { title: HOSTILE }),
      Type.Object({ b: Type.String() }, { title: 'other' }),
    ]),
  ),
})

function nthSchema(n: number) {
  if (n % 3 === 0) return Type.Integer({ minimum: 0 })
  return n % 3 === 1 ? Type.String() : Type.Boolean()
}

const many = Object.fromEntries(Array.from({ length: 196 }, (_, n) => [`field_${n}`, Type.Optional(nthSchema(n))]))

const run = async (): Promise<void> => {}
const catalog = () =>
  buildCatalog([
    defineBatch({
      type: 'studio',
      config,
      payload: Type.Object({ to: Type.String() }),
      output: Type.Object({ ok: Type.Boolean() }),
      run,
    }),
    defineBatch({ type: 'evil', config: evil, payload: evil, output: evil, run }),
    defineBatch({ type: 'wide', config: Type.Object(many), payload: Type.Object({}), output: Type.Object({}), run }),
  ])

export class StudioFixture {
  readonly backend = new MemoryBackend({ clock: systemTime, random: systemRandom })
  readonly #sockets: WebSocket[] = []
  /** IDs of workers that do not apply the configs they receive. */
  readonly ignoring = new Set<string>()
  #master: RunningMaster | undefined

  get url(): string {
    return this.#master?.url ?? ''
  }

  async start(): Promise<void> {
    this.#master = await startPageMaster(this.backend, catalog(), new Map([[STUDIO_TOKEN, ['studio']]]))
  }

  /** Connects a worker that is only a socket. It reports each generation as soon as it receives it. */
  async join(
    type: string,
    id: string,
    state: 'RUNNING' | 'ERROR' = 'RUNNING',
    lastError: string | null = null,
  ): Promise<WebSocket> {
    const socket = new WebSocket(
      `${this.url.replace('http', 'ws')}/api/v1/automations/${type}/` +
        `workers/${encodeURIComponent(id)}/control?token=${WORKER_TOKEN}`,
    )
    await once(socket, 'open')
    const reportState = (gen: number): void =>
      socket.send(
        JSON.stringify({ type: 'state', state, config_gen: gen, ts: Date.now() / 1_000, last_error: lastError }),
      )
    socket.addEventListener('message', ({ data }) => {
      const frame = JSON.parse(String(data)) as { type: string; config_gen?: number; id?: string }
      if (frame.type === 'config_changed' && frame.config_gen !== undefined && !this.ignoring.has(id))
        reportState(frame.config_gen)
    })
    socket.send(
      JSON.stringify({
        type: 'register',
        worker_id: id,
        automation_type: type,
        protocol_version: 1,
        hardware: { cores: 8, ram_gb: 31.2, hostname: 'node-7.fleet.example.net', kernel: '6.8.0-45-generic' },
      }),
    )
    reportState(0)
    this.#sockets.push(socket)
    while ((await this.record(type, id)).connected !== true) await new Promise((resolve) => setTimeout(resolve, 10))
    return socket
  }

  /** Stores an hour of frames with a gap. The last ones are in the future, so the actions of a test are among them. */
  async fill(type: string, id: string, slots: number): Promise<void> {
    const [row] = await this.backend.workers.get([{ type, id }])
    if (row?.conn == null) throw new TypeError(`${id} is not connected`)
    const now = Math.floor(Date.now() / 1_000)
    const stats = Array.from({ length: FRAMES }, (_, n) => n)
      .filter((n) => n < 100 || n > 112)
      .map((n) => JSON.stringify(frameOf(n, now + 60 - (FRAMES - n) * FRAME_SECONDS, slots)))
    await this.backend.workers.beat([{ type, id, conn: row.conn, stats }])
  }

  async call<T>(
    method: string,
    path: string,
    body?: object,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<T> {
    const response = await fetch(`${this.url}/api/v1/${path}`, {
      method,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return (await response.json()) as T
  }

  patch(type: string, id: string, body: object, actor = 'dashboard:ana'): Promise<{ config_gen: number }> {
    return this.call('PATCH', `automations/${type}/workers/${id}/config`, body, { 'muster-actor': actor })
  }

  record(
    type: string,
    id: string,
  ): Promise<{ config: Record<string, unknown>; config_gen: number; connected?: boolean }> {
    return this.call('GET', `automations/${type}/workers/${id}`)
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.close()
    await this.#master?.stop()
  }
}

export interface Studio {
  /** The fixture of the running test. */
  readonly fixture: StudioFixture
  /** Opens a page of the fixture and signs in. */
  readonly open: (hash: string, options?: BrowserContextOptions, token?: string) => Promise<Opened>
}

/** Before each test of a file, starts a fixture with the connected worker `studio/m-7`. Stops it after the test. */
export function studioForEachTest(): Studio {
  let fixture = new StudioFixture()
  beforeEach(async () => {
    fixture = new StudioFixture()
    if (CHROMIUM === undefined) return
    await fixture.start()
    await fixture.join('studio', 'm-7')
  })
  afterEach(() => fixture.stop())
  return {
    get fixture() {
      return fixture
    },
    open: (hash, options = {}, token) => signedIn(`${fixture.url}/`, hash, token, options),
  }
}

function frameOf(n: number, ts: number, slots: number): object {
  const wave = (speed: number): number => Math.sin(n / speed)
  const done = (slot: number): number => Math.round(n * (3 + 2 * Math.sin(slot)) + 20 * wave(10))
  return {
    ts,
    slots,
    cpu_pct: Math.round(40 + 30 * wave(12) + 5 * wave(2)),
    rss_mb: 298 + n * 0.4,
    metrics: {
      'counter.sent': n < 170 ? n * 40 : (n - 170) * 40,
      'gauge.connections': Math.round(12 + 6 * wave(20)),
      'histogram.smtp_ms.p50': 40 + 10 * wave(9),
      'histogram.smtp_ms.p95': 120 + 30 * wave(9),
      'histogram.smtp_ms.p99': 300 + 90 * wave(7),
      'histogram.smtp_ms.count': n * 40,
    },
    per_slot: Array.from({ length: slots }, (_, slot) => ({
      slot_id: slot,
      age_seconds: ((n + slot * 7) % 90) * FRAME_SECONDS,
      counters: { done: done(slot), failed: Math.floor(n / 30) },
    })),
  }
}
