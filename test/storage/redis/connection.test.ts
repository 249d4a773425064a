/** Tests the connection with real servers that are killed, frozen, demoted, filled and flushed. */
import { afterEach, describe, expect, it } from '@jest/globals'
import { seededRandom, systemTime, VirtualTime } from '../../../src/runtime/index.ts'
import type { Caller, Reply } from '../../../src/storage/redis/caller.ts'
import { Connection } from '../../../src/storage/redis/connection.ts'
import type { ConnectionOptions } from '../../../src/storage/redis/connection-options.ts'
import { key } from '../../../src/storage/redis/keys.ts'
import { slotOf } from '../../../src/storage/redis/slots.ts'
import { parseStoreUrl } from '../../../src/storage/redis/url.ts'
import { eventually, recordingLog } from '../../kit/index.ts'
import { fails } from '../contract/fixture.ts'
import { Forwarder } from './forwarder.ts'
import {
  startCluster,
  startRedis,
  startSentinel,
  withRedisServer,
  type RedisOptions,
  type RedisServer,
} from '../../kit/redis-server.ts'
import { scriptOfText } from './script-of-text.ts'

const ADD = scriptOfText('test.add', `#!lua\nreturn redis.call('INCRBY', KEYS[1], ARGV[2])`)
const TAKE = scriptOfText('test.take', `#!lua flags=allow-oom\nreturn redis.call('DEL', KEYS[1])`)
const LARGE = scriptOfText('test.large', `#!lua flags=no-writes\nreturn string.rep('x', ARGV[2])`)
const TIME = scriptOfText('test.time', '#!lua flags=no-writes\n--- @include "now"\n--- @include "int"\nreturn int(now)')
const COUNTER = key('c', 'test', 'n')

const open: { close(): unknown }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close()
})
const keep = <T extends { close(): unknown }>(each: T): T => {
  open.push(each)
  return each
}

const connect = (url: string, more: Partial<ConnectionOptions> = {}): Connection =>
  keep(new Connection({ url: parseStoreUrl(url), time: systemTime, random: seededRandom(1), ...more }))

async function openConnection(
  options: RedisOptions = {},
  more: Partial<ConnectionOptions> = {},
): Promise<{ server: RedisServer; connection: Connection }> {
  const server = keep(await startRedis(options))
  const connection = connect(server.url, more)
  await connection.open(AbortSignal.timeout(20_000))
  return { server, connection }
}

const add = (caller: Caller, n = 1, repeatable = false): Promise<Reply> =>
  caller.run(ADD, [COUNTER], [n], { repeatable })
const opening = (connection: Connection): Promise<void> => connection.open(AbortSignal.timeout(20_000))
const outcome = (code: string, of: string): unknown => expect.objectContaining({ code, outcome: of })

withRedisServer('redis connection', () => {
  describe('redis connection: calls', () => {
    it('uses the time of the store, or that of an injected clock', async () => {
      const { server, connection } = await openConnection()
      expect(Math.abs(Number(await connection.run(TIME, [COUNTER], [])) - systemTime.wallMs())).toBeLessThan(60_000)
      const clock = new VirtualTime()
      const dated = connect(server.url, { clock })
      await opening(dated)
      expect(await dated.run(TIME, [COUNTER], [])).toBe(`${clock.wallMs()}`)
    })

    it('reloads scripts that were flushed from the server (NOSCRIPT)', async () => {
      const { server, connection } = await openConnection()
      await server.connect().script('FLUSH')
      expect(await Promise.all([add(connection), add(connection), add(connection)])).toEqual([1, 2, 3])
    })

    it('separates stores with different prefixes and databases, including their messages', async () => {
      const { server, connection } = await openConnection()
      await add(connection, 5)
      const others = [connect(`${server.url}/1`), connect(`${server.url}?prefix=team-a`)]
      for (const other of others) {
        await opening(other)
        expect(await add(other)).toBe(1)
      }
      expect(new Set([connection, ...others].map((each) => each.channel('wake')))).toEqual(
        new Set(['muster:wake', 'muster:db1:wake', 'team-a:wake']),
      )
      expect((await server.connect().keys('*')).every((name) => /^(?:muster|team-a):\{/.test(name))).toBe(true)
    })

    it('distinguishes a full store and a failed script from an unavailable store', async () => {
      const { server, connection } = await openConnection()
      await add(connection)
      await server.connect().config('SET', 'maxmemory', '1')
      await expect(add(connection)).rejects.toEqual(fails('STORAGE_FULL'))
      expect(await connection.run(TAKE, [COUNTER], [])).toBe(1)
      await server.connect().config('SET', 'maxmemory', '0')
      await expect(connection.run(ADD, [COUNTER], ['x'])).rejects.toThrow(/a script failed: ERR/)
      await server.connect().lpush(COUNTER, 'foreign')
      await expect(add(connection)).rejects.toEqual(fails('STORAGE_CORRUPT'))
    })
  })

  describe('redis connection: the store becomes unavailable', () => {
    it('keeps calls for a moment and sends them in order when the store is back', async () => {
      const { server, connection } = await openConnection({ appendfsync: 'always' })
      await server.kill()
      await eventually(() => !connection.health().ok)
      const waiting = [1, 10, 100].map((n) => add(connection, n))
      await server.start()
      expect(await Promise.all(waiting)).toEqual([1, 11, 111])
      expect(connection.health().ok).toBe(true)
    })

    it('rejects them unsent after 1.5 s, and new calls immediately (G18)', async () => {
      const time = new VirtualTime()
      const { server, connection } = await openConnection({}, { time })
      await server.kill()
      await eventually(() => !connection.health().ok)
      const waiting = expect(add(connection)).rejects.toEqual(outcome('STORAGE_UNAVAILABLE', 'not_sent'))
      await time.advance(1_500)
      await waiting
      await expect(add(connection)).rejects.toEqual(outcome('STORAGE_UNAVAILABLE', 'not_sent'))
    })

    it('reports an unknown outcome when the connection breaks, and never sends that call twice', async () => {
      const { server, connection } = await openConnection({ appendfsync: 'always' })
      server.pause()
      const call = expect(add(connection)).rejects.toEqual(outcome('STORAGE_UNAVAILABLE', 'unknown'))
      await server.kill()
      await call
      await server.start()
      expect(await add(connection)).toBe(1)
    })

    it('sends an idempotent call again', async () => {
      const { server, connection } = await openConnection({ appendfsync: 'always' })
      server.pause()
      const call = add(connection, 1, true)
      await server.kill()
      await server.start()
      expect(await call).toBe(1)
    })

    it('never reports a call that was sent once as not sent, even if there is no time to send it again', async () => {
      const time = new VirtualTime()
      const { server, connection } = await openConnection({ appendfsync: 'always' }, { time })
      server.pause()
      const call = expect(add(connection, 1, true)).rejects.toEqual(outcome('STORAGE_UNAVAILABLE', 'unknown'))
      await server.kill()
      await eventually(() => !connection.health().ok)
      await time.advance(1_500)
      await call
    })

    it('detects a server that does not respond, and recovers without a restart (G18)', async () => {
      const { server, connection } = await openConnection()
      server.pause()
      const since = systemTime.monotonicMs()
      await eventually(() => !connection.health().ok)
      expect(systemTime.monotonicMs() - since).toBeLessThan(5_000)
      expect(connection.health().detail).toContain('did not respond in time')
      server.resume()
      await eventually(() => connection.health().ok)
      expect(await add(connection)).toBe(1)
    }, 20_000)

    it('waits for a large response as long as data arrives', async () => {
      const server = keep(await startRedis())
      const network = keep(await Forwarder.to(server.port))
      network.slow()
      const connection = connect(`kvstore://127.0.0.1:${network.port}`)
      await opening(connection)
      const since = systemTime.monotonicMs()
      expect(String(await connection.run(LARGE, [COUNTER], [10 * 1_048_576]))).toHaveLength(10 * 1_048_576)
      expect(systemTime.monotonicMs() - since).toBeGreaterThan(2_000) // Longer than the read timeout.
    }, 30_000)

    it('does not treat its own blocked event loop as a server timeout', async () => {
      const { connection } = await openConnection()
      const answer = add(connection, 5)
      await systemTime.sleep(0) // The call is sent.
      for (const endMs = systemTime.monotonicMs() + 2_000; systemTime.monotonicMs() < endMs;);
      expect(await answer).toBe(5)
    })

    it('waits until a demoted server is primary again (READONLY)', async () => {
      const { server, connection } = await openConnection()
      const admin = server.connect()
      await admin.replicaof('127.0.0.1', 1)
      const call = add(connection)
      await eventually(() => !connection.health().ok)
      await admin.replicaof('NO', 'ONE')
      expect(await call).toBe(1)
    })

    it('creates a new epoch for a store that was flushed (D15)', async () => {
      const { server, connection } = await openConnection()
      await server.connect().flushall()
      await connection.readmit()
      expect(await server.connect().hget('muster:{m}:info', 'epoch')).toMatch(/^[\w-]{36}$/)
    })
  })

  describe('redis connection: Sentinel and Cluster', () => {
    it('follows a failover to the new primary', async () => {
      const fleet = keep(await startSentinel())
      const connection = connect(`kvstore+sentinel://127.0.0.1:${fleet.sentinel.port}/${fleet.name}`)
      await opening(connection)
      const before = connection.runId()
      await fleet.failover()
      await eventually(() => connection.health().ok && connection.runId() !== before)
      expect(await add(connection)).toBe(1)
    }, 60_000)

    it('asks the sentinels when its primary has lost its replicas', async () => {
      const fleet = keep(await startSentinel())
      await fleet.nodes[0]?.client.config('SET', 'min-replicas-to-write', 1)
      const connection = connect(`kvstore+sentinel://127.0.0.1:${fleet.sentinel.port}/${fleet.name}`)
      await opening(connection)
      const before = connection.runId()
      await fleet.failover()
      // The sentinels demote the old primary after 8 s at the earliest.
      const isElsewhere = async (): Promise<boolean> => {
        await add(connection).catch(() => undefined)
        return connection.health().ok && connection.runId() !== before
      }
      await eventually('the new primary serves', isElsewhere, { withinMs: 6_000 })
    }, 60_000)

    it('follows a moved slot and a restarted node', async () => {
      const log = recordingLog()
      const cluster = keep(await startCluster({ appendfsync: 'always' }))
      const connection = connect(
        `kvstore+cluster://${cluster.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
        { log },
      )
      await opening(connection)
      const names = Array.from({ length: 30 }, (_, n) => key('c', `t${n}`, 'n'))
      const all = (): Promise<Reply[]> => Promise.all(names.map((name) => connection.run(ADD, [name], [1])))
      expect(new Set(await all())).toEqual(new Set([1]))
      const clients = cluster.nodes.map((node) => node.connect())
      const ids = await Promise.all(clients.map((client) => client.call('CLUSTER', 'MYID')))
      const moved = slotOf(key('c', 'moved', 'n'))
      const owner = Math.floor(moved / Math.ceil(16_384 / 3))
      for (const client of clients) await client.call('CLUSTER', 'SETSLOT', moved, 'NODE', String(ids[(owner + 1) % 3]))
      expect(await connection.run(ADD, [key('c', 'moved', 'n')], [1])).toBe(1)
      const before = connection.runId()
      await cluster.nodes[0]?.restart()
      await eventually(() => connection.health().ok && connection.runId() !== before)
      // A restarted node serves calls after 2 s.
      await eventually(async () => String(await clients[0]?.call('CLUSTER', 'INFO')).includes('cluster_state:ok'))
      expect(new Set(await all())).toEqual(new Set([2]))
    }, 60_000)
  })
})
