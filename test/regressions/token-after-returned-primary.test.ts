/**
 * Regression: after two failovers, from a primary to its replica and back to the same process, tokens of its first time
 * that were lost were issued again. No token may come twice (G5, G26).
 */
import { afterEach, describe, expect, it } from '@jest/globals'
import { seededRandom, systemTime } from '../../src/runtime/index.ts'
import { parseStoreUrl, RedisBackend } from '../../src/storage/redis/index.ts'
import { registration, reserve, start, submit, task } from '../storage/contract/fixture.ts'
import { eventually } from '../kit/index.ts'
import { startRedis, withRedisServer, type RedisServer } from '../kit/redis-server.ts'

const open: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close()
})

async function follow(replica: RedisServer, primary: RedisServer): Promise<void> {
  await replica.connect().replicaof(primary.host, primary.port)
  await eventually('the replica is in sync', async () =>
    (await replica.connect().info('replication')).includes('master_link_status:up'),
  )
}

withRedisServer('a primary that returns', () => {
  describe('a primary that returns (redis)', () => {
    it('issues no token again that its replica never received (G5, G26)', async () => {
      const [first, second] = [await startRedis({ appendfsync: 'always' }), await startRedis({ appendfsync: 'always' })]
      open.push(first, second)
      await follow(second, first)
      const backend = new RedisBackend({ url: parseStoreUrl(first.url), time: systemTime, random: seededRandom(1) })
      open.push(backend)
      await start(backend)
      await backend.workers.register([registration('w', 'm1/1')])
      await submit(backend, ...['a', 'b', 'c', 'd'].map((id) => task(id)))
      await reserve(backend, 1)
      await backend.locks.acquire('n', [{ name: 'a', owner: 'w', holdMs: 60_000 }])
      await first.connect().wait(1, 5_000)

      await second.connect().replicaof('NO', 'ONE')
      const lost = await reserve(backend, 2) // The new primary never receives these leases.
      const [lock] = await backend.locks.acquire('n', [{ name: 'b', owner: 'w', holdMs: 60_000 }])
      await follow(first, second)
      await first.connect().replicaof('NO', 'ONE')
      await first.connect().call('CLIENT', 'KILL', 'TYPE', 'normal')
      await eventually('the store is ready again', async () => (await backend.meta.info().catch(() => null)) !== null)

      const leased = await reserve(backend, 3)
      expect(leased.length).toBeGreaterThan(0)
      expect(Math.min(...leased.map(({ token }) => token))).toBeGreaterThan(Math.max(...lost.map(({ token }) => token)))
      const [again] = await backend.locks.acquire('n', [{ name: 'c', owner: 'w', holdMs: 60_000 }])
      expect(again?.kind === 'acquired' ? again.token : 0).toBeGreaterThan(
        lock?.kind === 'acquired' ? lock.token : Infinity,
      )
    }, 60_000)
  })
})
