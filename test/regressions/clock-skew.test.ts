/** Regression: masters with different clocks ended each other's leases. Only the time of the store may decide (G9). */
import { afterEach, describe, expect, it } from '@jest/globals'
import { setTimeout as pause } from 'node:timers/promises'
import { seededRandom, systemTime, type Time } from '../../src/runtime/index.ts'
import { parseStoreUrl, RedisBackend } from '../../src/storage/redis/index.ts'
import {
  HOUR,
  MINUTE,
  SECOND,
  TYPE,
  ids,
  item,
  refOf,
  reserve,
  sole,
  start,
  submit,
} from '../storage/contract/fixture.ts'
import { startRedis, withRedisServer, type RedisServer } from '../kit/redis-server.ts'

const open: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close()
})

/** A master on a host whose wall clock is wrong and can be changed at run time. */
async function masterOn(redis: RedisServer, host: { aheadMs: number }): Promise<RedisBackend> {
  const time: Time = { ...systemTime, wallMs: () => systemTime.wallMs() + host.aheadMs }
  const backend = new RedisBackend({ url: parseStoreUrl(redis.url), time, random: seededRandom(open.length) })
  open.push(backend)
  await start(backend)
  return backend
}

withRedisServer('clock skew', () => {
  describe('clock skew (redis)', () => {
    it('of five minutes and a step of an hour end or extend no lease, claim, lock or value', async () => {
      const redis = await startRedis()
      open.push(redis)
      const [ahead, behind] = [{ aheadMs: 5 * MINUTE }, { aheadMs: -5 * MINUTE }]
      const [fast, slow] = [await masterOn(redis, ahead), await masterOn(redis, behind)]
      await submit(slow, 'a', 'b')
      await slow.pools.put('p', [item('i')])
      const claim = (backend: RedisBackend): ReturnType<RedisBackend['pools']['claim']> =>
        backend.pools.claim('p', [{ owner: 'w', n: 1, holdMs: SECOND, match: {} }])
      const acquire = (backend: RedisBackend): ReturnType<RedisBackend['locks']['acquire']> =>
        backend.locks.acquire('n', [{ name: 'l', owner: 'w', holdMs: SECOND }])
      const begin = performance.now()
      const [first] = await reserve(fast, 1, SECOND)
      await claim(fast)
      await acquire(fast)
      await fast.kv.set('n', [{ key: 'k', value: '1', ttlMs: SECOND }])
      ahead.aheadMs += HOUR
      behind.aheadMs -= HOUR

      for (const backend of [fast, slow]) {
        expect(await backend.tasks.sweep(TYPE, 0, 500)).toMatchObject({ requeued: 0 })
        expect(sole(await claim(backend))).toEqual([])
        expect(await acquire(backend)).toMatchObject([{ kind: 'held' }])
        expect(await backend.kv.get('n', ['k'])).toEqual(['1'])
      }
      expect(performance.now() - begin).toBeLessThan(SECOND) // Otherwise the machine was too busy for a valid result.

      await pause(SECOND)
      expect(await slow.kv.get('n', ['k'])).toEqual([null])
      expect(await acquire(slow)).toMatchObject([{ kind: 'acquired' }])
      expect(ids(sole(await claim(slow)))).toEqual(['i'])
      expect(await slow.tasks.sweep(TYPE, 0, 500)).toMatchObject({ requeued: 1 })
      const again = sole(await reserve(fast, 1, SECOND))
      expect([again.id, again.token > (first?.token ?? Infinity)]).toEqual(['a', true])
      expect(await slow.tasks.ack(TYPE, [refOf(again)])).toEqual(['ok'])
    })
  })
})
