/**
 * Tests a Redis Cluster that changes under load: a slot moves, a primary fails over or is killed, a node restarts.
 * Every confirmed call must be present at the end, no operation may be applied twice, and waiting calls are served
 * again.
 */
import { afterEach, describe, expect, it } from '@jest/globals'
import { seededRandom, systemTime } from '../../../src/runtime/index.ts'
import { key } from '../../../src/storage/redis/keys.ts'
import { parseStoreUrl, RedisBackend } from '../../../src/storage/redis/index.ts'
import { slotOf } from '../../../src/storage/redis/slots.ts'
import type { FleetError } from '../../../src/protocol/index.ts'
import { DAY, leasesOf, registration, sole, task, TYPE, VISIBILITY } from '../contract/fixture.ts'
import { migrateSlot } from './cluster-fixture.ts'
import { startCluster, withRedisServer, type RedisCluster, type RedisServer } from '../../kit/redis-server.ts'
import { eventually } from '../../kit/index.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close()
})

/** The type of the test kit, and others whose slots are on other nodes. */
const TYPES = [TYPE, ...Array.from({ length: 8 }, (_, i) => `type${i}`)]

async function startBackend(): Promise<{
  cluster: RedisCluster
  backend: RedisBackend
  ownerOf: (type: string) => RedisServer
}> {
  const cluster = await startCluster({ appendfsync: 'always' })
  open.push(cluster)
  const backend = new RedisBackend({
    url: parseStoreUrl(`kvstore+cluster://${cluster.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`),
    time: systemTime,
    random: seededRandom(1),
  })
  open.push(backend)
  await backend.open(AbortSignal.timeout(20_000))
  await backend.workers.register(TYPES.map((type) => registration('w', 'm1/1', { type })))
  const ownerOf = (type: string): RedisServer =>
    cluster.nodes[Math.floor(slotOf(key('a', type, '')) / Math.ceil(16_384 / 3))] ?? sole(cluster.nodes.slice(0, 1))
  return { cluster, backend, ownerOf }
}

/** Submits, reserves and acks tasks of every type until `end`, and records the results. */
class Load {
  readonly submitted = new Set<string>()
  readonly acked: string[] = []
  readonly tokens = new Map<string, number[]>()
  readonly unknown = new Set<string>()
  readonly errors: FleetError[] = []
  readonly #backend: RedisBackend
  readonly #ended = new AbortController()
  readonly #running: Promise<unknown>
  #serial = 0

  constructor(backend: RedisBackend) {
    this.#backend = backend
    this.#running = Promise.all(TYPES.map((type) => this.#work(type)))
  }

  async end(): Promise<void> {
    this.#ended.abort()
    await this.#running
  }

  /** Resolves when every type has completed a further round. */
  async round(): Promise<void> {
    const before = new Map(TYPES.map((type) => [type, this.tokens.get(type)?.length ?? 0]))
    await eventually(
      'every type has completed a further round',
      () => TYPES.every((type) => (this.tokens.get(type)?.length ?? 0) > (before.get(type) ?? 0)),
      { context: () => `the last errors: ${[...new Set(this.errors.slice(-20).map(String))].join('; ')}` },
    )
  }

  async #work(type: string): Promise<void> {
    while (!this.#ended.signal.aborted) {
      const ids = Array.from({ length: 3 }, () => `${type}-${(this.#serial += 1)}`)
      await this.#note(ids, async () => {
        await this.#backend.tasks.submit(
          type,
          DAY,
          ids.map((id) => task(id, { ownId: true })),
        )
        for (const id of ids) this.submitted.add(id)
      })
      await this.#note([], () => this.#take(type))
    }
  }

  async #take(type: string): Promise<void> {
    const leases = leasesOf(
      sole(
        (
          await this.#backend.tasks.reserve(type, VISIBILITY, [
            { worker: 'w', limit: 10, gen: 0, defaultMaxAttempts: 3 },
          ])
        ).results,
      ),
    )
    const tokens = this.tokens.get(type) ?? []
    this.tokens.set(type, [...tokens, ...leases.map(({ token }) => token)])
    if (leases.length === 0) return
    await this.#note(
      leases.map(({ id }) => id),
      async () => {
        const results = await this.#backend.tasks.ack(type, leases)
        this.acked.push(...leases.filter((_, i) => results[i] === 'ok').map(({ id }) => id))
      },
    )
  }

  async #note(ids: readonly string[], call: () => Promise<unknown>): Promise<void> {
    try {
      await call()
    } catch (error) {
      this.errors.push(error as FleetError)
      for (const id of ids) this.unknown.add(id)
      await systemTime.sleep(20)
    }
  }
}

function loadOn(backend: RedisBackend): Load {
  const load = new Load(backend)
  open.push({ close: () => load.end() })
  return load
}

/**
 * Checks that every confirmed task is acked or still stored, that no task was acked twice and no token issued twice.
 */
async function settle(backend: RedisBackend, load: Load): Promise<void> {
  const rest = new Set<string>()
  for (const type of TYPES) {
    await backend.tasks.sweep(type, 0, 500)
    const ids = [...load.submitted].filter((id) => id.startsWith(`${type}-`))
    for (let from = 0; from < ids.length; from += 500) {
      const part = ids.slice(from, from + 500)
      for (const [i, place] of (await backend.tasks.locate(type, part)).entries())
        if (place !== null) rest.add(part[i] ?? '')
    }
    const tokens = load.tokens.get(type) ?? []
    expect(tokens).toEqual([...new Set(tokens)].toSorted((a, b) => a - b))
  }
  const acked = new Set(load.acked)
  expect(acked.size).toBe(load.acked.length)
  expect([...load.submitted].filter((id) => !acked.has(id) && !rest.has(id) && !load.unknown.has(id))).toEqual([])
  expect([...acked].filter((id) => rest.has(id))).toEqual([])
  expect(new Set(load.errors.map(({ code }) => code))).toEqual(
    load.errors.length === 0 ? new Set() : new Set(['STORAGE_UNAVAILABLE']),
  )
}

withRedisServer('redis cluster that changes', () => {
  describe('redis cluster that changes', () => {
    it('continues to serve calls while a slot moves to another node and back (MOVED, ASK)', async () => {
      const { cluster, backend, ownerOf } = await startBackend()
      const load = loadOn(backend)
      await load.round()
      const [slot, from] = [slotOf(key('a', TYPE, '')), ownerOf(TYPE)]
      const to = cluster.nodes.find((node) => node !== from) ?? from
      await migrateSlot(slot, from, to, cluster.nodes)
      await load.round()
      await migrateSlot(slot, to, from, cluster.nodes)
      await load.round()
      await load.end()
      await settle(backend, load)
      expect(load.errors.filter(({ outcome }) => outcome === 'unknown')).toEqual([])
    }, 120_000)

    it('follows a planned failover of a primary and loses no task', async () => {
      const { cluster, backend, ownerOf } = await startBackend()
      const replica = await cluster.addReplica(ownerOf(TYPE))
      const load = loadOn(backend)
      await load.round()
      const client = replica.connect()
      for (let tries = 0; !(await client.info('replication')).includes('role:master'); tries += 1) {
        // The server gives up a failover that takes longer than 5 s.
        if (tries % 60 === 0) await client.call('CLUSTER', 'FAILOVER')
        await systemTime.sleep(100)
      }
      await load.round()
      await load.end()
      await settle(backend, load)
    }, 120_000)

    it('follows the failover of a killed primary without duplicate tokens or partial scripts (G5, G26)', async () => {
      const { cluster, backend, ownerOf } = await startBackend()
      const primary = ownerOf(TYPE)
      const replica = await cluster.addReplica(primary)
      const load = loadOn(backend)
      await load.round()
      await primary.kill()
      await replica.connect().call('CLUSTER', 'FAILOVER', 'TAKEOVER')
      await load.round()
      expect(backend.health().ok).toBe(true)
      await load.end()
      for (const tokens of load.tokens.values()) expect(tokens).toEqual([...new Set(tokens)].toSorted((a, b) => a - b))
      for (const type of TYPES) {
        const [counts] = await backend.tasks.counts([type])
        const { items } = await backend.tasks.queue(type, 10_000)
        expect(items).toHaveLength(counts?.tiers.reduce((sum, n) => sum + n, 0) ?? -1)
      }
    }, 120_000)

    it('waits for a node that restarts, while the other nodes serve calls', async () => {
      const { backend, ownerOf } = await startBackend()
      const load = loadOn(backend)
      await load.round()
      const node = ownerOf(TYPE)
      await node.kill()
      const other = TYPES.find((type) => ownerOf(type) !== node) ?? ''
      await systemTime.sleep(200)
      expect(await backend.tasks.counts([other])).toHaveLength(1)
      await node.start()
      await load.round()
      expect(backend.health().ok).toBe(true)
      await load.end()
      await settle(backend, load)
    }, 120_000)
  })
})
