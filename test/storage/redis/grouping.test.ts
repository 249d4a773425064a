/** Tests that many small calls are grouped into a few scripts, and each caller gets the result it would get alone. */
import { afterEach, describe, expect, it } from '@jest/globals'
import { DAY, ids, leasesOf, registration, sole, task, TYPE, VISIBILITY } from '../contract/fixture.ts'
import { seededRandom, systemTime } from '../../../src/runtime/index.ts'
import { parseStoreUrl, RedisBackend } from '../../../src/storage/redis/index.ts'
import { startRedis, withRedisServer } from '../../kit/redis-server.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close()
})

withRedisServer('redis, reserves of one turn', () => {
  describe('redis, reserves of one turn', () => {
    it('are sent in groups of at most 128 tasks, and each gets its own results in order', async () => {
      const server = await startRedis()
      open.push(server)
      const backend = new RedisBackend({ url: parseStoreUrl(server.url), time: systemTime, random: seededRandom(1) })
      open.push(backend)
      await backend.open(AbortSignal.timeout(20_000))
      await backend.workers.register([registration('w', 'm/1')])
      const tasks = Array.from({ length: 500 }, (_, i) => task(`t${i}`))
      await backend.tasks.submit(TYPE, DAY, tasks)

      const client = server.connect()
      await client.config('RESETSTAT')
      const request = (worker: string, limit: number) =>
        backend.tasks.reserve(TYPE, VISIBILITY, [{ worker, limit, gen: 0, defaultMaxAttempts: 3 }])
      const [unknown, wide, ...single] = await Promise.all([
        request('x', 1),
        request('w', 100),
        ...tasks.slice(100).map(() => request('w', 1)),
        request('w', 1),
      ])
      expect(unknown?.results).toEqual([{ kind: 'refused', reason: 'unknown' }])
      expect(ids(leasesOf(sole(wide?.results ?? [])))).toEqual(ids(tasks.slice(0, 100)))
      expect(single.flatMap(({ results }) => ids(leasesOf(sole(results))))).toEqual(ids(tasks.slice(100)))
      expect(await client.info('commandstats')).toMatch(/cmdstat_evalsha:calls=4,/)
    })
  })
})
