/**
 * Tests responses that are lost. A submit without a response is sent again, and meanwhile another master may lease and
 * ack the task. The repetition is recognized by its slot and number, so an acked task is not queued again (G2), and the
 * caller gets the response to the first send (D79). The leases of a reserve without a response are returned to the
 * queue without counting an attempt (D81).
 */
import { afterEach, describe, expect, it } from '@jest/globals'
import { systemRandom, systemTime } from '../../../src/runtime/index.ts'
import { key } from '../../../src/storage/redis/keys.ts'
import { parseStoreUrl, RedisBackend } from '../../../src/storage/redis/index.ts'
import { slotOf } from '../../../src/storage/redis/slots.ts'
import type { Caller } from '../../../src/storage/redis/caller.ts'
import { createTasks } from '../../../src/storage/redis/tasks.ts'
import { RedisWorkers } from '../../../src/storage/redis/workers.ts'
import type { Lease, Tasks } from '../../../src/storage/index.ts'
import { DAY, leasesOf, ManualClock, refOf, registration, sole, task, TYPE, VISIBILITY } from '../contract/fixture.ts'
import { Forwarder } from './forwarder.ts'
import { startCluster, startRedis, withRedisServer, type RedisServer } from '../../kit/redis-server.ts'
import { TracedCaller } from './traced.ts'
import { eventually } from '../../kit/index.ts'

const tasksOver = (caller: Caller, process: string): Tasks => createTasks(caller, process, systemTime)

const RESERVE = 'tasks.reserve'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close()
})

interface Masters {
  /** Connects to the store through `network`. */
  readonly first: RedisBackend
  /** Connects to the store directly. */
  readonly second: Tasks
  /** Between the first master and the server with the tasks. */
  readonly network: Forwarder
}

async function forwarderTo(server: RedisServer): Promise<Forwarder> {
  const forwarder = await Forwarder.to(server.port)
  open.push(forwarder)
  return forwarder
}

async function master(url: string): Promise<RedisBackend> {
  const backend = new RedisBackend({ url: parseStoreUrl(url), time: systemTime, random: systemRandom })
  open.push(backend)
  await backend.open(AbortSignal.timeout(20_000))
  return backend
}

async function onOneServer(): Promise<Masters> {
  const server = await startRedis()
  open.push(server)
  const network = await forwarderTo(server)
  const [first, second] = [await master(`kvstore://127.0.0.1:${network.port}`), await master(server.url)]
  await first.workers.register([registration('w', 'm2/1')])
  return { first, second: second.tasks, network }
}

/**
 * Waits until the node reports every port. Nodes exchange them by gossip, and a client that sees old and new ports
 * drops connections.
 */
async function untilNamed(node: RedisServer, ways: readonly Forwarder[]): Promise<void> {
  const client = node.connect()
  const isNamed = async (): Promise<boolean> => {
    const nodes = String(await client.call('CLUSTER', 'NODES'))
    return ways.every(({ port }) => nodes.includes(`127.0.0.1:${port}@`))
  }
  await eventually(isNamed)
}

/** Every node announces the port of a forwarder, so the first master reaches each node through one. */
async function onCluster(): Promise<Masters> {
  const cluster = await startCluster()
  open.push(cluster)
  const ways = await Promise.all(cluster.nodes.map(forwarderTo))
  for (const [i, node] of cluster.nodes.entries())
    await node.connect().call('CONFIG', 'SET', 'cluster-announce-port', `${ways[i]?.port}`)
  await Promise.all(cluster.nodes.map((node) => untilNamed(node, ways)))
  const owner = Math.floor(slotOf(key('a', TYPE, '')) / Math.ceil(16_384 / cluster.nodes.length))
  const url = `kvstore+cluster://${ways.map(({ port }) => `127.0.0.1:${port}`).join(',')}`
  const [network, node] = [ways[owner], cluster.nodes[owner]]
  if (network === undefined || node === undefined) throw new Error('a node owns the slot')
  const first = await master(url)
  await first.workers.register([registration('w', 'm2/1')])
  return { first, second: tasksOver(new TracedCaller(node.connect(), systemTime), 'second'), network }
}

const reserved = async (tasks: Tasks): Promise<readonly Lease[]> =>
  leasesOf(
    sole((await tasks.reserve(TYPE, VISIBILITY, [{ worker: 'w', limit: 10, gen: 0, defaultMaxAttempts: 3 }])).results),
  )

withRedisServer('redis, a submit with a lost response', () => {
  describe.each([
    ['one server', onOneServer],
    ['a cluster', onCluster],
  ] as const)('redis, a submit with a lost response (%s)', (_name, start) => {
    it('does not queue a task again that another master leased and acked meanwhile (G2)', async () => {
      const { first, second, network } = await start()
      const lost = network.loseAnswer(/only-here/)
      const submitted = first.tasks.submit(TYPE, DAY, [task('only-here')])
      await lost
      const leases = await reserved(second)
      expect(leases.map(({ id }) => id)).toEqual(['only-here'])
      expect(await second.ack(TYPE, leases.map(refOf))).toEqual(['ok'])
      network.mend()
      expect(await submitted).toEqual([{ kind: 'queued' }])
      expect(await reserved(second)).toEqual([])
      expect((await second.counts([TYPE]))[0]?.totals).toMatchObject({ submitted: 1, acked: 1 })
    }, 15_000)

    it('returns the results of its first send, also for keys and client ids (G7)', async () => {
      const { first, second, network } = await start()
      await second.submit(TYPE, DAY, [task('known', { key: 'old' })])
      const lost = network.loseAnswer(/only-here/)
      const items = [
        task('only-here', { key: 'new' }),
        task('own', { ownId: true }),
        task('other', { key: 'old' }),
        task('late', { ownId: true }),
      ]
      const submitted = first.tasks.submit(TYPE, DAY, items, 3)
      await lost
      network.mend()
      expect(await submitted).toEqual([
        { kind: 'queued' },
        { kind: 'queued' },
        { kind: 'duplicate', duplicateOf: 'known' },
        { kind: 'queue_full' },
      ])
      expect(await first.tasks.submit(TYPE, DAY, [task('again', { key: 'new' })])).toEqual([
        { kind: 'duplicate', duplicateOf: 'only-here' },
      ])
      expect((await second.counts([TYPE]))[0]?.totals.submitted).toBe(3)
    }, 15_000)
  })

  describe.each([
    ['one server', onOneServer],
    ['a cluster', onCluster],
  ] as const)('redis, a reserve with a lost response (%s)', (_name, start) => {
    it('leases the tasks again in order without counting an attempt (G3, G5, G8)', async () => {
      const { first, second, network } = await start()
      await second.submit(TYPE, DAY, [task('a'), task('b'), task('high', { tier: 0 })])
      for (let round = 0; round < 3; round += 1) {
        const lost = network.loseAnswer(/\r\nw\r\n/)
        const taken = reserved(first.tasks)
        await lost
        const [during] = await second.counts([TYPE])
        expect(during?.inFlight).toBe(3)
        network.mend()
        const leases = await taken
        expect(leases.map(({ id, attempt }) => [id, attempt])).toEqual([
          ['high', 0],
          ['a', 0],
          ['b', 0],
        ])
        expect(await second.release(TYPE, leases.map(refOf))).toEqual(['ok', 'ok', 'ok'])
      }
    }, 60_000)
  })

  it('redis, a reserve with a lost response: the next reserve returns its leases (D81)', async () => {
    const { first, second, network } = await onOneServer()
    await second.submit(TYPE, DAY, [task('a')])
    const lost = network.loseAnswer(/\r\nw\r\n/)
    const taken = reserved(first.tasks)
    await lost
    await expect(taken).rejects.toMatchObject({ outcome: 'unknown' })
    expect((await second.counts([TYPE]))[0]?.inFlight).toBe(1)
    network.mend()
    let leases: readonly Lease[] = []
    await eventually(async () => {
      leases = await reserved(first.tasks).catch(() => [])
      return leases.length > 0
    })
    expect(leases.map(({ id, attempt }) => [id, attempt])).toEqual([['a', 0]])
  }, 60_000)

  describe('redis, numbered calls', () => {
    it('of reserve: a lost response counts as no lost lease, an expired delivered lease does (D26, D81)', async () => {
      const server = await startRedis()
      open.push(server)
      const clock = new ManualClock()
      const caller = new TracedCaller(server.connect(), clock)
      const tasks = tasksOver(caller, 'p')
      await new RedisWorkers(caller, async () => []).register([registration('w', 'm1/1')])
      await tasks.submit(TYPE, DAY, [task('a'), task('b')])
      for (let stall = 0; stall < 12; stall += 1) {
        caller.loses = stall % 4 === 3 ? null : RESERVE
        const leases = await reserved(tasks).catch(() => null)
        if (caller.loses !== null) expect(leases).toBeNull()
        else await tasks.release(TYPE, (leases ?? []).map(refOf))
        clock.advance(VISIBILITY / 2)
      }
      caller.loses = null
      expect((await reserved(tasks)).map(({ id, attempt }) => [id, attempt])).toEqual([
        ['a', 0],
        ['b', 0],
      ])
      clock.advance(VISIBILITY)
      expect(await tasks.sweep(TYPE, 1, 10)).toMatchObject({ dead: 2 })
    })

    it('of reserve: tasks of a lost response that are not leased next are pending (G3, D81)', async () => {
      const server = await startRedis()
      open.push(server)
      const caller = new TracedCaller(server.connect(), new ManualClock())
      caller.loses = RESERVE
      const tasks = tasksOver(caller, 'p')
      await new RedisWorkers(caller, async () => []).register([registration('w', 'm1/1')])
      await tasks.submit(TYPE, DAY, [task('a'), task('b'), task('c')])
      const take = (limit: number) =>
        tasks.reserve(TYPE, VISIBILITY, [{ worker: 'w', limit, gen: 0, defaultMaxAttempts: 3 }])
      await expect(take(3)).rejects.toThrow('the response was lost')
      caller.loses = null
      expect(await take(1)).toMatchObject({ results: [{ leases: [{ id: 'a' }] }] })
      expect(await tasks.locate(TYPE, ['a', 'b', 'c'])).toEqual(['in_flight', 'pending', 'pending'])
      expect((await tasks.counts([TYPE]))[0]).toMatchObject({ tiers: [0, 2, 0], inFlight: 1 })
    })

    it('of reserve are remembered for 1,000 slots; then the slot that was idle longest is dropped', async () => {
      const server = await startRedis()
      open.push(server)
      const client = server.connect()
      const caller = new TracedCaller(client, new ManualClock())
      const slots = `muster:{a:${TYPE}}:r`
      await client.hset(
        slots,
        Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`p${i}.0`, `1:${9 + i}:0:[]`])),
      )
      await client.hset(slots, 'p7.0', '1:8:0:[]')
      await new RedisWorkers(caller, async () => []).register([registration('w', 'm1/1')])
      await reserved(tasksOver(caller, 'new'))
      expect([await client.hlen(slots), await client.hmget(slots, 'p7.0', 'new.0')]).toEqual([
        1_000,
        [null, expect.any(String)],
      ])
    })

    it('of submit are not executed after a later call of their slot', async () => {
      const server = await startRedis()
      open.push(server)
      const client = server.connect()
      const caller = new TracedCaller(client, new ManualClock())
      const [tasks, overtaken] = [tasksOver(caller, 'p'), tasksOver(caller, 'p')]
      await tasks.submit(TYPE, DAY, [task('a')])
      await tasks.submit(TYPE, DAY, [task('b')])
      await expect(overtaken.submit(TYPE, DAY, [task('c')])).rejects.toThrow('OVERTAKEN')
      expect(await tasks.locate(TYPE, ['a', 'b', 'c'])).toEqual(['pending', 'pending', null])
    })

    it('of submit are remembered for 1,000 slots; then the slot that was idle longest is dropped', async () => {
      const server = await startRedis()
      open.push(server)
      const client = server.connect()
      const clock = new ManualClock()
      const caller = new TracedCaller(client, clock)
      for (let i = 0; i < 1_002; i += 1) {
        clock.advance(1)
        await tasksOver(caller, `p${i}`).submit(TYPE, DAY, [task(`t${i}`)])
      }
      const slots = await client.hkeys(`muster:{a:${TYPE}}:c`)
      expect([slots.length, slots.includes('p1.0'), slots.includes('p2.0')]).toEqual([1_000, false, true])
    })
  })
})
