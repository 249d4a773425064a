/**
 * Regression: stores evicted confirmed data. Every policy that may evict must be reported, and keys must have no TTL
 * that a volatile policy could use.
 */
import { afterEach, describe, expect, it } from '@jest/globals'
import { seededRandom, systemTime } from '../../src/runtime/index.ts'
import { parseStoreUrl, RedisBackend } from '../../src/storage/redis/index.ts'
import { DAY, TYPE, fails, killed, reserve, start, submit, task } from '../storage/contract/fixture.ts'
import { startRedis, withRedisServer } from '../kit/redis-server.ts'

const VOLATILE = ['volatile-lru', 'volatile-lfu', 'volatile-random', 'volatile-ttl']
const ALL_KEYS = ['allkeys-lru', 'allkeys-lfu', 'allkeys-random']
const MIB = 1_048_576

const open: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close()
})

withRedisServer('eviction policies', () => {
  describe('eviction policies (redis)', () => {
    it('cause a warning unless it is noeviction, and volatile policies evict nothing from a full store', async () => {
      const redis = await startRedis({ maxmemory: '32mb' })
      open.push(redis)
      const client = redis.connect()
      for (const policy of [...VOLATILE, ...ALL_KEYS, 'noeviction']) {
        await client.flushall()
        await client.config('SET', 'maxmemory-policy', policy)
        const backend = new RedisBackend({ url: parseStoreUrl(redis.url), time: systemTime, random: seededRandom(1) })
        open.push(backend)
        await start(backend)
        const { detail, profile } = backend.health()
        expect([policy, detail.includes(`maxmemory-policy is ${policy}`), profile]).toEqual([
          policy,
          policy !== 'noeviction',
          'unsafe',
        ])
        if (!ALL_KEYS.includes(policy)) await fill(backend)
      }
    }, 60_000)
  })
})

/** Fills the store to its limit, with a task in every state and with TTLs, and checks that nothing was evicted. */
async function fill(backend: RedisBackend): Promise<void> {
  await killed(backend, 'dead')
  await submit(backend, task('in flight', { key: 'k', ttlMs: DAY }))
  await reserve(backend)
  await backend.kv.set('n', [{ key: 'a', value: '1', ttlMs: DAY }])
  const body = `{"payload":${JSON.stringify('x'.repeat(MIB))}}`
  let stored = 0
  const full = async (): Promise<void> => {
    for (;;) {
      await backend.tasks.submit(
        TYPE,
        DAY,
        Array.from({ length: 4 }, (_, i) => task(`t${stored + i}`, { ownId: true, body })),
      )
      stored += 4
    }
  }
  await expect(full()).rejects.toEqual(fails('STORAGE_FULL'))
  expect(stored).toBeGreaterThan(10)
  const names = ['dead', 'in flight', ...Array.from({ length: stored }, (_, i) => `t${i}`)]
  expect(await backend.tasks.locate(TYPE, names)).toEqual([
    'dead',
    'in_flight',
    ...Array.from({ length: stored }, () => 'pending'),
  ])
  expect(await backend.kv.get('n', ['a'])).toEqual(['1'])
}
