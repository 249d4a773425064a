/**
 * Regression: a store at its memory limit could not be emptied, because that was rejected as well. Every call that
 * settles, pops or removes must still work (G18).
 */
import { afterEach, describe, expect, it } from '@jest/globals'
import { seededRandom, systemTime } from '../../src/runtime/index.ts'
import { parseStoreUrl, RedisBackend } from '../../src/storage/redis/index.ts'
import { CALLS } from '../storage/contract/lifecycle.ts'
import {
  MINUTE,
  TYPE,
  conn,
  fails,
  ids,
  inFlight,
  item,
  killed,
  nack,
  ref,
  refOf,
  registration,
  reserve,
  sole,
  start,
  submit,
} from '../storage/contract/fixture.ts'
import { startRedis, withRedisServer } from '../kit/redis-server.ts'

const GROWS = [
  'workers.register',
  'configs.put',
  'streams.push',
  'tasks.submit',
  'pools.put',
  'pools.claim',
  'kv.set',
  'locks.acquire',
  'counters.add',
  'events.append',
]

const open: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close()
})

withRedisServer('oom mid load', () => {
  describe('oom mid load (redis)', () => {
    it('rejects every call that grows the store, and no other call', async () => {
      const redis = await startRedis()
      const backend = new RedisBackend({ url: parseStoreUrl(redis.url), time: systemTime, random: seededRandom(1) })
      open.push(redis, backend)
      await start(backend)
      await backend.workers.register([registration('w', 'm1/1')])
      const refused: string[] = []
      await redis.connect().config('SET', 'maxmemory', '1')
      for (const [name, call] of Object.entries(CALLS)) {
        const code = await call(backend).then(
          () => null,
          (error: unknown) => (error as { code?: string }).code ?? String(error),
        )
        if (code !== null) refused.push(`${name} ${code}`)
      }
      expect(refused.toSorted()).toEqual(GROWS.map((name) => `${name} STORAGE_FULL`).toSorted())
    })

    it('can be emptied: calls that settle, replay, pop and forget still work', async () => {
      const redis = await startRedis()
      const backend = new RedisBackend({ url: parseStoreUrl(redis.url), time: systemTime, random: seededRandom(1) })
      open.push(redis, backend)
      await start(backend)
      await killed(backend, 'dead 1', 'dead 2', 'dead 3')
      const [failing, back] = await inFlight(backend, 'failing', 'back')
      await submit(backend, 'pending')
      await backend.workers.register([registration('w', 'm1/1')])
      await backend.streams.push(TYPE, 'm1', 1, ['{}', '{}'])
      await backend.pools.put('p', [item('i')])
      const claim = sole(sole(await backend.pools.claim('p', [{ owner: 'w', n: 1, holdMs: MINUTE, match: {} }])))
      await redis.connect().config('SET', 'maxmemory', '1')

      await expect(submit(backend, 'more')).rejects.toEqual(fails('STORAGE_FULL'))
      expect(await nack(backend, failing === undefined ? [] : [failing], { retryInMs: 0 })).toEqual(['scheduled'])
      expect(await backend.tasks.release(TYPE, back === undefined ? [] : [refOf(back)])).toEqual(['ok'])
      expect(await backend.tasks.replay(TYPE, 1)).toBe(1)
      expect(await backend.tasks.applyToDead(TYPE, 'remove', ['dead 2'])).toEqual(['removed'])
      expect(await backend.tasks.clearDead(TYPE)).toBe(1)
      const leases = await reserve(backend)
      expect(ids(leases).toSorted()).toEqual(['back', 'dead 1', 'failing', 'pending'])
      expect(await backend.tasks.ack(TYPE, leases.map(refOf))).toEqual(leases.map(() => 'ok'))
      expect(await backend.streams.pop(TYPE, 10)).toHaveLength(2)
      expect(await backend.pools.release('p', [refOf(claim)])).toEqual(['ok'])
      expect(await backend.pools.remove('p', [{ id: 'i', token: null }])).toEqual([true])
      await backend.workers.disconnect([conn('w', 'm1/1')])
      expect(await backend.workers.forget([ref('w')])).toEqual([true])
      expect((await backend.tasks.counts([TYPE]))[0]).toMatchObject({
        tiers: [0, 0, 0],
        inFlight: 0,
        scheduled: 0,
        dead: 0,
      })
    })
  })
})
