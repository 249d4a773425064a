/** Tests two masters on one store: a change confirmed by one applies to every later call of the other. */
import { afterEach, describe, expect, it } from '@jest/globals'
import { seededRandom, systemTime } from '../../../src/runtime/index.ts'
import { parseStoreUrl, RedisBackend } from '../../../src/storage/redis/index.ts'
import type { Reservation } from '../../../src/storage/index.ts'
import { DAY, ref, registration, sole, task, TYPE, VISIBILITY } from '../contract/fixture.ts'
import { startRedis, withRedisServer } from '../../kit/redis-server.ts'

const WORKERS = Array.from({ length: 200 }, (_, i) => `w${i}`)

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close()
})

async function twoMasters(): Promise<readonly [RedisBackend, RedisBackend]> {
  const server = await startRedis()
  open.push(server)
  const [first, second] = [1, 2].map(
    (seed) => new RedisBackend({ url: parseStoreUrl(server.url), time: systemTime, random: seededRandom(seed) }),
  )
  if (first === undefined || second === undefined) throw new Error('two were made')
  for (const each of [first, second]) {
    open.push(each)
    await each.open(AbortSignal.timeout(20_000))
  }
  await Promise.all([first.meta.beat('m1'), second.meta.beat('m2')])
  return [first, second]
}

withRedisServer('redis, two masters', () => {
  describe('redis, two masters', () => {
    it('never lease a task to a worker after the other master confirmed its drain (G14, D33)', async () => {
      const [first, second] = await twoMasters()
      await second.workers.register(WORKERS.map((id) => registration(id, `m2/${id}`, { instance: id })))
      for (let batch = 0; batch < 4; batch += 1)
        await first.tasks.submit(
          TYPE,
          DAY,
          Array.from({ length: 500 }, (_, i) => task(`${batch}-${i}`)),
        )
      const reserve = async (id: string): Promise<Reservation> =>
        sole(
          (await second.tasks.reserve(TYPE, VISIBILITY, [{ worker: id, limit: 1, gen: 0, defaultMaxAttempts: 3 }]))
            .results,
        )
      const isDraining = (answer: Reservation): boolean => answer.kind === 'refused' && answer.reason === 'draining'
      const lives = WORKERS.map(async (id, i) => {
        let drained = false
        const draining = systemTime
          .sleep(i % 20)
          .then(() => first.workers.drain([ref(id)]))
          .then(() => void (drained = true))
        const seen: { readonly afterDrain: boolean; readonly answer: Reservation }[] = []
        for (let after = 0; after < 3; after += drained ? 1 : 0)
          seen.push({ afterDrain: drained, answer: await reserve(id) })
        await draining
        return seen
      })
      const seen = (await Promise.all(lives)).flat()
      expect(seen.filter(({ afterDrain, answer }) => afterDrain && !isDraining(answer))).toEqual([])
      expect(seen.filter(({ afterDrain }) => afterDrain).length).toBeGreaterThanOrEqual(2 * WORKERS.length)
      expect(seen.some(({ answer }) => answer.kind === 'leased' && answer.leases.length === 1)).toBe(true)
    })

    it('lease with the config that the other master stored, as soon as it was confirmed (D26, D33)', async () => {
      const [first, second] = await twoMasters()
      await second.workers.register([registration('w', 'm2/1')])
      await first.tasks.submit(
        TYPE,
        DAY,
        Array.from({ length: 100 }, (_, i) => task(`t${i}`)),
      )
      for (let gen = 0; gen < 20; gen += 1) {
        expect(
          await first.configs.put({
            ...ref('w'),
            expectGen: gen,
            config: `{"n":${gen}}`,
            changed: ['n'],
            actor: 'admin',
          }),
        ).toMatchObject({ gen: gen + 1 })
        const ask = (of: number) =>
          second.tasks.reserve(TYPE, VISIBILITY, [{ worker: 'w', limit: 1, gen: of, defaultMaxAttempts: 3 }])
        expect((await ask(gen)).results).toEqual([{ kind: 'refused', reason: 'stale' }])
        expect((await ask(gen + 1)).results).toMatchObject([{ leases: [{ id: `t${gen}` }] }])
      }
    })
  })
})
