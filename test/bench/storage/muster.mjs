/**
 * Calls the backends of Muster in this process as the master does: draws IDs, writes bodies as JSON and parses leased
 * bodies, because the library of a peer does all three. The master's own work (HTTP, validation, the control channel)
 * is not included.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { systemRandom, systemTime } from '../../../src/runtime/index.ts'
import { inFlight } from '../load.mjs'
import { redisCosts, startRedis } from '../stores.mjs'
import { PAYLOAD } from './life.mjs'

export const TYPE = 'noop'
const WORKER = 'w-1'
const DAY_MS = 86_400_000
const VISIBILITY_MS = 600_000
const OPENS_WITHIN_MS = 20_000
const ROOT = join(import.meta.dirname, '../../..')

/** An ID as the master draws it. */
function timedUuid(ms) {
  const drawn = systemRandom.uuid()
  return `${ms.toString(16).padStart(12, '0')}7${drawn.slice(15, 18)}${drawn.slice(19, 23)}${drawn.slice(24)}`
}

function newTask() {
  const submitted = systemTime.wallMs()
  return {
    id: timedUuid(submitted),
    ownId: false,
    key: null,
    tier: 1,
    ttlMs: null,
    maxAttempts: null,
    submittedAtMs: submitted,
    body: `{"payload":${JSON.stringify(PAYLOAD)},"priority":0,"submitted_at":${submitted / 1_000}}`,
  }
}

export async function submit(backend, n) {
  const tasks = Array.from({ length: n }, newTask)
  const results = await backend.tasks.submit(TYPE, DAY_MS, tasks)
  if (results.some((answer) => answer.kind !== 'queued')) throw new Error('a task was refused')
  return tasks.map(({ id }) => id)
}

/** Sends a reserve with the arguments of the benchmark. */
export async function reserve(backend, limit) {
  const {
    results: [answer],
  } = await backend.tasks.reserve(TYPE, VISIBILITY_MS, [{ worker: WORKER, limit, gen: 0, defaultMaxAttempts: 5 }])
  if (answer.kind === 'refused') throw new Error(`a reserve was refused: ${answer.reason}`)
  return answer.leases
}

export async function ack(backend, leases) {
  const results = await backend.tasks.ack(TYPE, leases)
  if (results.some((answer) => answer !== 'ok')) throw new Error('a lease was lost')
}

/** Reserves and acknowledges `n` tasks in batches, with `width` of them in flight. */
async function drain(backend, n, batch, width) {
  const done = []
  await inFlight(width, width, async () => {
    while (done.length < n) {
      const leases = await reserve(backend, batch)
      if (leases.length === 0) return
      for (const { body } of leases) JSON.parse(body)
      await ack(backend, leases)
      for (const { id } of leases) done.push(id)
    }
  })
  return done
}

/** `end` stops what the store needed in addition to the backend. */
const MADE = {
  redis: async (bench, from, { appendfsync } = {}) => {
    const { parseStoreUrl, RedisBackend } = await from('redis/index.ts')
    const redis = await startRedis(bench.directory, { appendfsync })
    const backend = new RedisBackend({
      url: parseStoreUrl(`kvstore://127.0.0.1:${redis.port}`),
      time: systemTime,
      random: systemRandom,
    })
    return { backend, costs: () => redisCosts(redis.port), end: () => redis.stop() }
  },
  sqlite: async (bench, from) => {
    const { SqliteBackend } = await from('sqlite/index.ts')
    const folder = mkdtempSync(join(bench.directory, 'sqlite-'))
    const backend = new SqliteBackend({
      path: join(folder, 'bench.db'),
      clock: systemTime,
      timers: systemTime,
      random: systemRandom,
      threadUrl: from.url('sqlite/thread.ts'),
    })
    return { backend, end: () => rmSync(folder, { recursive: true, force: true }) }
  },
  memory: async (_, from) => {
    const { MemoryBackend } = await from('memory/index.ts')
    return { backend: new MemoryBackend({ clock: systemTime, random: systemRandom }), end: () => {} }
  },
}

/** Imports a module of the storage of the checkout in `root`. */
function importer(root) {
  const url = (path) => pathToFileURL(join(root, 'src/storage', path))
  return Object.assign((path) => import(url(path).href), { url })
}

/** Opens a backend on an empty store, with one registered worker. @param root The checkout whose backend it is. */
export async function openBackend(store, bench, settings, root = ROOT) {
  const { backend, end, costs } = await MADE[store](bench, importer(root), settings)
  const close = async () => {
    await backend.close()
    await end()
  }
  try {
    await backend.open(AbortSignal.timeout(OPENS_WITHIN_MS))
    await backend.workers.register([
      { type: TYPE, id: WORKER, conn: 'bench/1', instance: '', hardware: '{}', defaults: '{}' },
    ])
    return { backend, close, costs }
  } catch (error) {
    await close()
    throw error
  }
}

export async function countOf(backend) {
  const [{ tiers, scheduled, inFlight: leased, dead }] = await backend.tasks.counts([TYPE])
  return tiers[0] + tiers[1] + tiers[2] + scheduled + leased + dead
}

/** The driver for a task life on `store`. @param root The checkout whose backend it is. */
export const openMuster = (store, root) => async (bench, shape) => {
  const { backend, ...rest } = await openBackend(store, bench, shape, root)
  return {
    ...rest,
    add: (n) => submit(backend, n),
    drain: (n) => drain(backend, n, shape.batch, shape.takers),
    count: () => countOf(backend),
  }
}
