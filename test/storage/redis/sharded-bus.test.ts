/**
 * Tests topic messages on a Redis Cluster: they stay on the node of their topic and are published only if there is a
 * subscriber. Masters of the previous release still receive them, and their messages are received.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import type { Redis } from 'ioredis'
import { VirtualTime } from '../../../src/runtime/index.ts'
import { key, shardedTopic, shardedWakes } from '../../../src/storage/redis/keys.ts'
import type { MasterSignal } from '../../../src/storage/index.ts'
import { parseStoreUrl, type RedisBackend } from '../../../src/storage/redis/index.ts'
import { slotOf } from '../../../src/storage/redis/slots.ts'
import { reserve, submit, TYPE } from '../contract/fixture.ts'
import { masterAt, migrateSlot, ownerOf } from './cluster-fixture.ts'
import { startCluster, withRedisServer, type RedisCluster } from '../../kit/redis-server.ts'
import { eventually } from '../../kit/index.ts'

const TYPES = Array.from({ length: 6 }, (_, n) => `type${n}`)
const entries = (from: number, n: number): string[] => Array.from({ length: n }, (_, i) => `${from + i}`)

let cluster: RedisCluster
let clients: readonly Redis[]
const open: { close(): unknown }[] = []

const numberIn = (info: string, pattern: RegExp): number => Number(pattern.exec(info)?.groups?.['n'] ?? 0)

/** Number of messages that the nodes copied to each other. */
async function copies(): Promise<number> {
  const infos = await Promise.all(clients.map(async (client) => String(await client.call('CLUSTER', 'INFO'))))
  return infos.reduce((sum, info) => sum + numberIn(info, /messages_publish_sent:(?<n>\d+)/), 0)
}

/** Number of messages published on all nodes, including those of scripts. */
async function published(): Promise<number> {
  const infos = await Promise.all(clients.map((client) => client.info('commandstats')))
  const ofNode = (info: string): number =>
    numberIn(info, /cmdstat_publish:calls=(?<n>\d+)/) + numberIn(info, /cmdstat_spublish:calls=(?<n>\d+)/)
  return infos.reduce((sum, info) => sum + ofNode(info), 0)
}

async function masters(): Promise<readonly [RedisBackend, RedisBackend]> {
  await Promise.all(clients.map((client) => client.flushall()))
  const [first, second] = [await masterAt(cluster, 'm1', open), await masterAt(cluster, 'm2', open)]
  await first.meta.beat('m1') // From here on both masters know each other.
  return [first, second]
}

async function subscribed(backend: RedisBackend, types: readonly string[] = TYPES): Promise<Map<string, string[]>> {
  const received = new Map(types.map((type) => [type, [] as string[]]))
  for (const type of types) await backend.bus.subscribe(`${type}.emit`, (data) => received.get(type)?.push(data))
  return received
}

/** Publishes a mark on each topic and waits for it. Every earlier message has then arrived or is lost. */
async function drained(from: RedisBackend, received: ReadonlyMap<string, readonly string[]>): Promise<void> {
  await from.bus.publish([...received.keys()].map((type) => ({ topic: `${type}.emit`, data: 'mark' })))
  await eventually(() => [...received.values()].every((each) => each.at(-1) === 'mark'))
}

withRedisServer('redis cluster, topic messages', () => {
  beforeAll(async () => {
    cluster = await startCluster({ appendfsync: 'everysec' })
    clients = cluster.nodes.map((node) => node.connect())
  }, 60_000)
  afterAll(() => cluster.close())
  afterEach(async () => {
    for (const each of open.splice(0).toReversed()) await each.close()
  })

  describe('redis cluster, topic messages', () => {
    it('does not publish output without a subscriber, and copies no output to another node (D92)', async () => {
      const [first, second] = await masters()
      const before = [await published(), await copies()]
      for (const type of TYPES) await first.streams.push(type, 'm1', 1, entries(0, 100))
      expect([await published(), await copies()]).toEqual(before)
      const received = await subscribed(second)
      for (const type of TYPES) await first.streams.push(type, 'm1', 2, entries(100, 100))
      await drained(first, received)
      for (const type of TYPES) expect(received.get(type)).toEqual([...entries(100, 100), 'mark'])
      expect(await copies()).toBe(before[1])
    })

    it('needs a user with the permission for SPUBLISH', async () => {
      const user = ['ACL', 'SETUSER', 'fleet', 'on', '>pw', '~muster:*', '&muster:*', '+@all', '-spublish'] as const
      await Promise.all(clients.map((client) => client.call(...user)))
      const hosts = cluster.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')
      const url = parseStoreUrl(`kvstore+cluster://fleet:pw@${hosts}`)
      await expect(masterAt(cluster, 'm1', open, { url })).rejects.toThrow(
        "the store's user may not call SPUBLISH on keys and channels of muster:*; grant it these rights",
      )
      await Promise.all(clients.map((client) => client.call('ACL', 'SETUSER', 'fleet', '+spublish')))
      await expect(masterAt(cluster, 'm1', open, { url })).resolves.toBeDefined()
      await Promise.all(clients.map((client) => client.call('ACL', 'DELUSER', 'fleet')))
    })

    it('stops publishing output when the last subscription ends', async () => {
      const [first, second] = await masters()
      const received: string[] = []
      const listeners = [(data: string) => void received.push(data), () => undefined]
      const ends = await Promise.all(listeners.map((on) => second.bus.subscribe('type0.emit', on)))
      await first.streams.push('type0', 'm1', 1, ['1'])
      await eventually(() => received.length > 0)
      for (const end of ends) end()
      const client = ownerOf(cluster, slotOf(key('o', 'type0', ''))).connect()
      const counted = () => client.call('PUBSUB', 'SHARDNUMSUB', `muster:${shardedTopic('type0.emit')}`)
      await eventually(async () => String(await counted()).endsWith(',0'))
      const before = await published()
      await first.streams.push('type0', 'm1', 2, ['2'])
      expect([received, await published()]).toEqual([['1'], before])
    })

    it('wakes one of the masters that wait without copies (D253)', async () => {
      const [first, second] = await masters()
      await first.meta.beat('m1') // Since the second one has joined.
      const woken: MasterSignal[] = []
      second.bus.onSignal((signal) => void woken.push(signal))
      expect(await reserve(second, 1)).toEqual([])
      const client = ownerOf(cluster, slotOf(key('a', TYPE, ''))).connect()
      const channels = () => client.call('PUBSUB', 'SHARDCHANNELS', `muster:${shardedWakes(TYPE)}*`)
      await eventually(async () => String(await channels()) !== '')
      const before = await copies()
      await submit(first, 'a')
      await eventually(() => woken.length > 0)
      expect(woken).toEqual([{ kind: 'wake', type: TYPE, isChosen: true }])
      expect(await copies()).toBe(before)
    })

    it('delivers plugin messages of any topic in order and without copies', async () => {
      const [first, second] = await masters()
      const before = await copies()
      const received: string[] = []
      await second.bus.subscribe('news {a}', (data) => received.push(data))
      await first.bus.publish(entries(0, 50).map((data) => ({ topic: 'news {a}', data })))
      await eventually(() => received.length >= 50)
      expect([received, await copies()]).toEqual([entries(0, 50), before])
    })

    it('also publishes to the channels of the previous release while one of its masters lives (D92)', async () => {
      const clock = new VirtualTime()
      await Promise.all(clients.map((client) => client.flushall()))
      const first = await masterAt(cluster, 'm1', open, { clock })
      const second = await masterAt(cluster, 'm2', open, { clock })
      const live = ownerOf(cluster, slotOf('{m}')).connect()
      // The only key that the older release writes with a heartbeat.
      await live.zadd('muster:{m}:live', clock.wallMs(), 'old')
      await Promise.all([first.meta.beat('m1'), second.meta.beat('m2')])
      const received = await subscribed(second)
      const old = clients[0]?.duplicate()
      const oldReceived: string[] = []
      old?.on('message', (_, data: string) => oldReceived.push(data))
      await old?.subscribe('muster:event:type0.emit')
      open.push({ close: () => old?.disconnect() })
      for (const type of TYPES) await first.streams.push(type, 'm1', 1, entries(0, 10))
      await drained(first, received)
      for (const type of TYPES) expect(received.get(type)).toEqual([...entries(0, 10), 'mark'])
      await eventually(() => oldReceived.at(-1) === 'mark')
      expect(oldReceived).toEqual([...entries(0, 10), 'mark'])
      await clients[1]?.publish('muster:event:type0.emit', 'from the older release')
      const latest = (): unknown[] => [received.get('type0')?.at(-1), oldReceived.at(-1)]
      await eventually(() => latest().every((message) => message === 'from the older release'))
      await clock.advance(15_000)
      await Promise.all([first.meta.beat('m1'), second.meta.beat('m2')])
      await first.meta.beat('m1')
      const before = await copies()
      await first.streams.push('type0', 'm1', 2, ['sharded'])
      await drained(first, new Map([['type0', received.get('type0') ?? []]]))
      expect(received.get('type0')?.slice(-2)).toEqual(['sharded', 'mark'])
      expect([oldReceived.at(-1), await copies()]).toEqual(['from the older release', before])
    })

    it('follows the slot of a topic to another node, and resubscribes after a restart of the node', async () => {
      const [first, second] = await masters()
      const received = await subscribed(second, ['type0'])
      const arrives = async (): Promise<void> => {
        const before = received.get('type0')?.length
        await eventually(async () => {
          // The node may not be back yet.
          await first.bus.publish([{ topic: 'type0.emit', data: 'x' }]).catch(() => undefined)
          return received.get('type0')?.length !== before
        })
      }
      await arrives()
      const slot = slotOf(key('o', 'type0', ''))
      const from = ownerOf(cluster, slot)
      const to = cluster.nodes.find((node) => node !== from) ?? from
      await migrateSlot(slot, from, to, cluster.nodes)
      await arrives()
      await to.restart()
      await arrives()
      await migrateSlot(slot, to, from, cluster.nodes)
      await arrives()
    }, 60_000)
  })
})
