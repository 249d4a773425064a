/**
 * @module test/golden/fleet
 * Fills a store through a master of any release, and lists what the store holds. Both use only the wire, which every
 * release serves, so that the same lines run the code of an older checkout. All time is virtual: the master that opens
 * a golden store continues at the moment at which it was written.
 */
import { once } from 'node:events'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { WebSocket } from 'ws'

/** The parts of a checkout that run a master. Older releases have more and fewer members; these are in all of them. */
export interface Release {
  readonly startMaster: typeof import('../../src/master/index.ts').startMaster
  readonly automation: typeof import('../../src/automation/index.ts')
  readonly runtime: typeof import('../../src/runtime/index.ts')
  readonly SqliteBackend: typeof import('../../src/storage/sqlite/index.ts').SqliteBackend
  readonly redis: typeof import('../../src/storage/redis/index.ts')
}
type Backend = Parameters<Release['startMaster']>[0]['backend']
type Time = InstanceType<Release['runtime']['VirtualTime']>
// oxlint-disable-next-line typescript/no-explicit-any -- like a client without the types of this project
type Json = any

/** What is in a golden store, as the master that wrote it returned it. */
export interface Contents {
  /** Unix time in milliseconds at which the store was closed. */
  readonly wallMs: number
  readonly reads: Readonly<Record<string, Json>>
  /** A task that was leased when the store was closed, and its token. */
  readonly lease: { readonly task_id: string; readonly token: number }
  readonly lock: { readonly name: string; readonly token: number }
  readonly idempotent: { readonly key: string; readonly task_id: string }
}

export interface GoldenMaster {
  readonly time: Time
  readonly call: (
    method: string,
    path: string,
    body?: unknown,
    token?: string,
  ) => Promise<{ readonly status: number; readonly body: Json }>
  readonly rpc: (method: string, params: object) => Promise<Json>
  readonly connect: (id: string) => Promise<WebSocket>
  readonly stop: () => Promise<void>
}

const ADMIN = 'admin-token-of-the-golden-store'
const WORKER = 'worker-token-of-the-golden-store'
const START_MS = 1_767_225_600_000
const HOUR_MS = 3_600_000

/** @param checkout A folder with the source of a release. */
export async function releaseOf(checkout: string): Promise<Release> {
  const load = (path: string): Promise<Json> => import(pathToFileURL(join(checkout, 'src', path, 'index.ts')).href)
  return {
    startMaster: (await load('master')).startMaster,
    automation: await load('automation'),
    runtime: await load('runtime'),
    SqliteBackend: (await load('storage/sqlite')).SqliteBackend,
    redis: await load('storage/redis'),
  }
}

export function sqliteOf({ SqliteBackend, runtime }: Release, path: string, time: Time): Backend {
  return new SqliteBackend({ path, clock: time, timers: time, random: runtime.systemRandom })
}

export function redisOf({ redis, runtime }: Release, url: string, time: Time): Backend {
  return new redis.RedisBackend({
    url: redis.parseStoreUrl(url),
    clock: time,
    time: runtime.systemTime,
    random: runtime.systemRandom,
  })
}

export const timeOf = ({ runtime }: Release, wallMs = START_MS): Time => new runtime.VirtualTime(wallMs)

export async function startGolden(release: Release, backend: Backend, time: Time): Promise<GoldenMaster> {
  const { buildCatalog, defineBatch, Type } = release.automation
  const silent = (): void => {}
  const master = await release.startMaster({
    listen: { host: '127.0.0.1', port: 0 },
    clock: time,
    timers: time,
    random: release.runtime.systemRandom,
    log: { debug: silent, info: silent, warn: silent, error: silent, isEnabled: () => false },
    backend,
    backendScheme: 'golden',
    catalog: buildCatalog([
      defineBatch({
        type: 'mailer',
        payload: Type.Object({ to: Type.String() }),
        output: Type.Object({ sent: Type.Boolean() }),
        config: Type.Object({
          host: Type.Optional(Type.String()),
          password: Type.Optional(Type.String({ writeOnly: true })),
        }),
        pools: { accounts: { payload: Type.Object({ user: Type.String() }), tags: Type.Object({}) } },
        visibilityTimeoutSeconds: HOUR_MS / 1_000,
        run: async () => {},
      }),
    ]),
    tokens: { admin: ADMIN, worker: WORKER, workerPeers: [], scopes: new Map() },
    settings: {
      submitRpsPerToken: 0,
      idempotencyTtlSeconds: 86_400,
      maxBodyBytes: 131_072,
      maxLostLeases: 10,
      maxQueueLength: 10_000,
      maxSockets: 1_000,
    },
    dashboardDir: null,
    version: 'golden',
  })
  const call: GoldenMaster['call'] = async (method, path, body, token = ADMIN) => {
    const response = await fetch(`${master.url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: JSON.parse(await response.text()) }
  }
  return {
    call,
    time,
    rpc: async (method, params) => {
      const path = '/automations/mailer/workers/w-1/rpc'
      const { body } = await call('POST', path, { jsonrpc: '2.0', id: 1, method, params }, WORKER)
      return body.result ?? body.error
    },
    connect: async (id) => {
      const address = `${master.url.replace('http', 'ws')}/api/v1/automations/mailer/workers/${id}/control`
      const socket = new WebSocket(address, { headers: { authorization: `Bearer ${WORKER}` } })
      await once(socket, 'open')
      return socket
    },
    stop: () => master.stop(),
  }
}

/** Puts something of every kind into an empty store. @returns what it holds. */
export async function fill(master: GoldenMaster): Promise<Contents> {
  const { time, rpc } = master
  const sockets = [await connected(master, 'w-1'), await connected(master, 'w-2')]
  await must(master, 'PATCH', `${AUTOMATION}/workers/w-1/config`, { host: 'first', password: 'a-secret-of-1' })
  for (const host of ['second', 'third'])
    await must(master, 'PATCH', `${AUTOMATION}/workers/w-1/config`, { host, slots: 3 })
  await must(master, 'PATCH', `${AUTOMATION}/workers/w-2/config`, { enabled: true })
  await must(master, 'PUT', `${AUTOMATION}/workers/w-2/claim`, { managed_by: 'kubernetes:fleet/w-2' })
  await must(master, 'POST', `${AUTOMATION}/workers/w-2/drain`)
  await passed(sockets, time)
  for (let at = 0; at < 12; at += 1)
    await must(master, 'POST', `${AUTOMATION}/tasks`, {
      task_id: `task-${at}`,
      payload: { to: `to-${at} ü\u0000` },
      priority: [0, 1, -1][at % 3],
      ...(at % 4 === 0 && { idempotency_key: `key-${at}` }),
      ...(at % 5 === 0 && { max_attempts: 7 }),
    })
  const { tasks: leases } = await rpc('tasks.reserve', { limit: 5 })
  const [acked, retried, dead, released, kept] = leases as readonly { task_id: string; token: number }[]
  await rpc('tasks.ack', { tasks: [pick(acked)] })
  await rpc('tasks.nack', { tasks: [{ ...pick(retried), error: 'later', delay_seconds: 600 }] })
  await rpc('tasks.nack', { tasks: [{ ...pick(dead), error: 'never', permanent: true }] })
  await rpc('tasks.release', { tasks: [pick(released)] })
  for (let at = 0; at < 3; at += 1)
    sockets[0]?.send(JSON.stringify({ type: 'output', slot_id: at, ts: START_MS / 1_000, payload: { sent: true } }))
  sockets[0]?.send(
    JSON.stringify({ type: 'stats', slots: 3, cpu_pct: 12.5, rss_mb: 80, ts: START_MS / 1_000, metrics: { a: 1 } }),
  )
  await passed(sockets, time)
  await must(master, 'POST', `${AUTOMATION}/output/pop`, { n: 1 })
  await rpc('pool.put', {
    pool: 'accounts',
    items: ['a', 'b'].map((id) => ({ id, payload: { user: `user-${id}` }, tags: {} })),
  })
  await rpc('pool.claim', { pool: 'accounts', hold_ms: HOUR_MS })
  await rpc('kv.set', { key: 'kept', value: { deep: [1, 'ü'] } })
  await rpc('kv.set', { key: 'brief', value: 1, ttl_ms: HOUR_MS })
  await rpc('counter.add', { name: 'n', delta: 41 })
  const lock = await rpc('lock.acquire', { name: 'l', hold_ms: HOUR_MS })
  for (const socket of sockets) {
    socket.close()
    await once(socket, 'close')
  }
  await passed([], time)
  return {
    wallMs: time.wallMs(),
    reads: await readsOf(master),
    lease: pick(kept),
    lock: { name: 'l', token: lock.token },
    idempotent: { key: 'key-8', task_id: 'task-8' },
  }
}

const AUTOMATION = '/automations/mailer'
const READS = [
  '/workers',
  '/workers/w-1',
  '/workers/w-2',
  '/workers/w-1/config/history',
  '/workers/w-2/config/history',
  '/workers/w-1/stats',
  '/queue?n=100',
  '/dead?n=100',
  '/output/length',
  '/output/peek?n=100',
  ...Array.from({ length: 12 }, (_, at) => `/tasks/task-${at}`),
]

/** Everything that an admin and a worker can read of the store. */
export async function readsOf(master: GoldenMaster): Promise<Readonly<Record<string, Json>>> {
  const reads: Record<string, Json> = {}
  for (const path of READS) {
    const { status, body } = await master.call('GET', AUTOMATION + path)
    reads[path] = status === 200 ? body : status // The sentence of an error may differ between releases.
  }
  reads['/pools/accounts'] = (await master.call('GET', '/pools/accounts')).body
  reads['config of w-1'] = (await master.call('GET', `${AUTOMATION}/workers/w-1/config`, undefined, WORKER)).body
  for (const key of ['kept', 'brief', 'missing']) reads[`kv ${key}`] = await master.rpc('kv.get', { key })
  reads['counter n'] = await master.rpc('counter.get', { name: 'n' })
  return reads
}

const pick = (lease: { task_id: string; token: number } | undefined) => {
  if (lease === undefined) throw new Error('a task was not leased')
  return { task_id: lease.task_id, token: lease.token }
}

async function must(master: GoldenMaster, method: string, path: string, body: object = {}): Promise<void> {
  const { status, body: answer } = await master.call(method, path, body)
  if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(answer)}`)
}

async function connected(master: GoldenMaster, id: string): Promise<WebSocket> {
  const socket = await master.connect(id)
  socket.send(
    JSON.stringify({
      type: 'register',
      worker_id: id,
      automation_type: 'mailer',
      protocol_version: 1,
      hardware: { cores: 4, ram_gb: 7.5, hostname: 'node-7', kernel: '6.1.0' },
    }),
  )
  await passed([socket], master.time)
  socket.send(
    JSON.stringify({ type: 'state', state: 'RUNNING', config_gen: 0, ts: START_MS / 1_000, last_error: null }),
  )
  await passed([socket], master.time)
  return socket
}

/** Waits until the master has read what these sockets sent, then lets it write it to the store. */
async function passed(sockets: readonly WebSocket[], time: Time): Promise<void> {
  for (const socket of sockets) {
    const answered = new Promise<void>((resolve) => {
      const look = (data: Buffer): void => {
        const frame: Json = JSON.parse(data.toString())
        if (frame.type !== 'ping' || frame.id !== 'sync') return
        socket.off('message', look)
        resolve()
      }
      socket.on('message', look)
    })
    socket.send(JSON.stringify({ type: 'ping', id: 'sync' }))
    await answered
  }
  for (let second = 0; second < 12; second += 1) {
    await time.advance(500)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
