/** The history of queues with several masters on one Redis, and after a restart (D166). */
import { afterEach, describe, expect, it } from '@jest/globals'
import type { QueueHistoryBody } from '../../../src/protocol/index.ts'
import { seededRandom, systemTime, VirtualTime } from '../../../src/runtime/index.ts'
import { parseStoreUrl, RedisBackend } from '../../../src/storage/redis/index.ts'
import { eventually } from '../../kit/index.ts'
import { startRedis, withRedisServer } from '../../kit/redis-server.ts'
import { startTestMaster, type TestMaster } from '../../kit/running-master.ts'

const EVERY_MS = 15_000
const PATH = '/api/v1/automations/mailer'

withRedisServer('the history of queues', () => {
  const open: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const end of open.splice(0).toReversed()) await end()
  })

  /** Masters of one store and one time, of which any may sample. */
  async function fleet() {
    const server = await startRedis()
    open.push(() => server.close())
    const time = new VirtualTime()
    let serial = 0
    const start = async (): Promise<TestMaster> => {
      const random = seededRandom((serial += 1))
      const backend = new RedisBackend({ url: parseStoreUrl(server.url), time: systemTime, random, clock: time })
      const master = await startTestMaster({ backend, clock: time, timers: time, random })
      open.push(() => master.stop())
      return master
    }
    return { start, pass: () => time.advance(EVERY_MS) }
  }
  const submit = (master: TestMaster, count: number): Promise<unknown> =>
    master.call('POST', `${PATH}/tasks/batch`, {
      body: { tasks: Array.from({ length: count }, () => ({ payload: { to: 'a@b' } })) },
    })
  const submitted = async (master: TestMaster): Promise<number | null> => {
    const { steps } = (await master.call('GET', `${PATH}/history?seconds=3600`)).json as QueueHistoryBody
    return steps.length === 0 ? null : steps.reduce((sum, step) => sum + (step.submitted ?? 0), 0)
  }

  describe('of several masters', () => {
    it('survives a restart of the master that sampled (D166)', async () => {
      const { start, pass } = await fleet()
      const shows = (master: TestMaster, count: number): Promise<void> =>
        eventually(async () => {
          await pass()
          return (await submitted(master)) === count
        })
      const first = await start()
      await shows(first, 0)
      await submit(first, 3)
      await shows(first, 3)
      await first.stop()
      const second = await start()
      expect(await submitted(second)).toBe(3)
      await submit(second, 2)
      await shows(second, 5)
    })

    it('counts the tasks of all masters once, also after one has stopped', async () => {
      const { start, pass } = await fleet()
      const masters = [await start(), await start()] as const
      const show = (count: number, of: readonly TestMaster[]): Promise<void> =>
        eventually(async () => {
          await pass()
          const counts = await Promise.all(of.map(submitted))
          return counts.every((each) => each === count)
        })
      await show(0, masters)
      await Promise.all([submit(masters[0], 3), submit(masters[1], 4)])
      await show(7, masters)
      await masters[0].stop()
      await submit(masters[1], 1)
      await show(8, masters.slice(1))
    })
  })
})
