/** Regression: two masters that swept simultaneously promoted a task twice. Each task must be moved once (D33). */
import { afterEach, describe, expect, it } from '@jest/globals'
import { seededRandom, systemTime } from '../../src/runtime/index.ts'
import type { Lease } from '../../src/storage/index.ts'
import { parseStoreUrl, RedisBackend } from '../../src/storage/redis/index.ts'
import {
  ManualClock,
  MINUTE,
  TYPE,
  VISIBILITY,
  ids,
  nack,
  refOf,
  reserve,
  start,
  submit,
  task,
} from '../storage/contract/fixture.ts'
import { startRedis, withRedisServer } from '../kit/redis-server.ts'

const ROUNDS = 10
const EACH = 100

const open: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close()
})

async function threeMasters(clock: ManualClock): Promise<readonly RedisBackend[]> {
  const redis = await startRedis()
  open.push(redis)
  const masters = [1, 2, 3].map(
    (seed) => new RedisBackend({ url: parseStoreUrl(redis.url), time: systemTime, random: seededRandom(seed), clock }),
  )
  open.push(...masters)
  await Promise.all(masters.map(start))
  return masters
}

withRedisServer('two sweepers', () => {
  describe('two sweepers (redis)', () => {
    it('move and count every task once while others reserve', async () => {
      const clock = new ManualClock()
      const [first, second, third] = (await threeMasters(clock)) as [RedisBackend, RedisBackend, RedisBackend]
      for (let round = 0; round < ROUNDS; round += 1) {
        await submit(first, ...Array.from({ length: 2 * EACH }, (_, i) => task(`${round}/${i}`, { maxAttempts: 9 })))
        await nack(first, await reserve(first, EACH), { retryInMs: MINUTE })
        await reserve(second, EACH)
        clock.advance(VISIBILITY + MINUTE)

        const leased: Lease[] = []
        const sweeps = [first, second, third, first, second].map((master) => master.tasks.sweep(TYPE, 0, 500))
        const reserves = [third, first, second].map(async (master) => leased.push(...(await reserve(master, EACH))))
        const swept = await Promise.all(sweeps)
        await Promise.all(reserves)
        leased.push(...(await reserve(third)))

        expect(new Set(ids(leased)).size).toBe(2 * EACH)
        expect(leased).toHaveLength(2 * EACH)
        expect(swept.reduce((sum, { requeued }) => sum + requeued, 0)).toBe(EACH)
        // A reserve promotes as well.
        expect(swept.reduce((sum, { promoted }) => sum + promoted, 0)).toBeLessThanOrEqual(EACH)
        expect(await second.tasks.ack(TYPE, leased.slice(0, EACH).map(refOf))).toEqual(
          leased.slice(0, EACH).map(() => 'ok'),
        )
        expect(await third.tasks.ack(TYPE, leased.slice(EACH).map(refOf))).toEqual(leased.slice(EACH).map(() => 'ok'))
      }
      expect((await first.tasks.counts([TYPE]))[0]).toMatchObject({
        tiers: [0, 0, 0],
        inFlight: 0,
        scheduled: 0,
        totals: { submitted: ROUNDS * 2 * EACH, acked: ROUNDS * 2 * EACH },
      })
    })
  })
})
