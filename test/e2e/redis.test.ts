/** Tests the built command on a Redis. Outages are in redis-outage.test.ts, several masters in masters.test.ts. */
import { afterEach, describe, expect, it } from '@jest/globals'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startRedis, withRedisServer, type RedisOptions, type RedisServer } from '../kit/redis-server.ts'
import { Fleet, type Proc } from './fleet.ts'
import { eventually } from '../kit/index.ts'

const AUTOMATIONS = { SVC_AUTOMATIONS: join(process.cwd(), 'test/e2e/automations/faulty.mjs') }
const SLOW = '/automations/slow'

interface Submitted {
  readonly task_id: string
}

const open: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close()
})

async function redisOf(options: RedisOptions): Promise<RedisServer> {
  const redis = await startRedis(options)
  open.push(() => redis.close())
  return redis
}

/** One master with its REST client. */
async function masterOn(redis: RedisServer): Promise<Fleet> {
  const fleet = new Fleet(redis.url)
  open.push(() => fleet.stop())
  await fleet.startMaster(AUTOMATIONS)
  return fleet
}

const notesOf = (fleet: Fleet): string => join(fleet.directory, 'notes')
const workerOf = (fleet: Fleet, id: string): Proc =>
  fleet.startWorker('slow', id, { ...AUTOMATIONS, NOTES: notesOf(fleet) })
const isGone = async (fleet: Fleet, id: string): Promise<boolean> =>
  (await fleet.call('GET', `${SLOW}/tasks/${id}`)).status === 404
const lengthOf = async (fleet: Fleet, path: string): Promise<number> =>
  (await fleet.ok<{ length: number }>('GET', path)).length

/** The ids of the tasks that workers of this fleet started, once per start. */
function startsOf(fleet: Fleet): string[] {
  if (!existsSync(notesOf(fleet))) return []
  return readFileSync(notesOf(fleet), 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
}

/** Waits until the store has none of these tasks, and checks that none is a dead letter. */
async function allDone(fleet: Fleet, ids: readonly string[], withinMs = 60_000): Promise<void> {
  const left = [...ids]
  await eventually(
    'every acknowledged task is done',
    async () => {
      while (left.length > 0) {
        if (!(await isGone(fleet, left.at(-1) ?? ''))) return false
        left.pop()
      }
      return true
    },
    { context: () => `${left.length} of ${ids.length} are left`, withinMs },
  )
  expect(await lengthOf(fleet, `${SLOW}/dead`)).toBe(0)
}

withRedisServer('a fleet on a Redis', () => {
  describe('a fleet on a Redis', () => {
    it('runs every task exactly once, each with its output (G1, G2)', async () => {
      const fleet = await masterOn(await redisOf({ appendfsync: 'always' }))
      expect(await fleet.ok('GET', '/me')).toMatchObject({
        backend: { scheme: 'kvstore', durable: true, shared: true, pubsub: true },
      })
      for (const id of ['w-1', 'w-2']) workerOf(fleet, id)
      for (const id of ['w-1', 'w-2']) await fleet.configure('slow', id, { enabled: true, slots: 16 })
      const ids: string[] = []
      for (let batch = 0; batch < 20; batch += 1) {
        const { results } = await fleet.ok<{ results: Submitted[] }>('POST', `${SLOW}/tasks/batch`, {
          tasks: Array.from({ length: 100 }, () => ({ payload: { ms: 1 } })),
        })
        ids.push(...results.map(({ task_id }) => task_id))
      }
      await eventually(
        'every task has its output',
        async () => (await lengthOf(fleet, `${SLOW}/output/length`)) >= 2_000,
        { context: () => `${startsOf(fleet).length} begun` },
      )
      await allDone(fleet, ids)
      expect(startsOf(fleet).toSorted()).toEqual(ids.toSorted())
      const outputs = await fleet.ok<{ payload: Submitted }[]>('POST', `${SLOW}/output/pop`, { n: 10_000 })
      expect(outputs.map(({ payload }) => payload.task_id).toSorted()).toEqual(ids.toSorted())
    }, 120_000)

    it('reports a new epoch after a restart of Redis that may have lost data (D46, D47)', async () => {
      const redis = await redisOf({})
      const fleet = await masterOn(redis)
      const epoch = async (): Promise<string | null> => (await fleet.call('GET', '/me')).headers.get('muster-epoch')
      const before = await epoch()
      await redis.kill()
      await redis.start()
      await eventually('the epoch has changed', async () => (await epoch()) !== before, { withinMs: 15_000 })
    }, 60_000)
  })
})
