/** The log of a worker, read at another master than the one that has its socket (D181). */
import { afterEach, describe, expect, it } from '@jest/globals'
import { systemRandom, systemTime } from '../../../src/runtime/index.ts'
import { parseStoreUrl, RedisBackend } from '../../../src/storage/redis/index.ts'
import { eventually } from '../../kit/index.ts'
import { startRedis, withRedisServer } from '../../kit/redis-server.ts'
import type { TestMaster } from '../../kit/running-master.ts'
import { connectOther, logsOf, masterOf, runTask, stopWorkers, work } from './fixture.ts'

const closes: (() => Promise<unknown>)[] = []
afterEach(async () => {
  await stopWorkers()
  for (const close of closes.splice(0)) await close()
})

withRedisServer('the log of a worker of another master', () => {
  describe('the log of a worker of another master', () => {
    it('is the same, also when it is large, and so are the reasons why it cannot be read', async () => {
      const server = await startRedis()
      closes.push(() => server.close())
      const start = (): Promise<TestMaster> =>
        masterOf({
          backend: new RedisBackend({ url: parseStoreUrl(server.url), time: systemTime, random: systemRandom }),
        })
      const [owner, other] = [await start(), await start()]
      await work(owner, 'w1')
      const pad = 'é"\\'.repeat(1_200)
      for (const part of [1, 2, 3, 4, 5])
        await runTask(
          owner,
          Array.from({ length: 8 }, (_, i) => ({ message: `line ${part}.${i}`, fields: { pad } })),
        )
      const here = await logsOf(owner, 'w1', '?after=0')
      const there = await logsOf(other, 'w1', '?after=0')
      expect([here.status, there.status]).toEqual([200, 200])
      expect(there.body).toEqual(here.body)
      expect(there.body.has_more).toBe(true)

      const old = await connectOther(owner, 'old', { 'muster-version': '0.1.0' })
      expect((await logsOf(other, 'old')).detail).toContain('runs version 0.1.0, which cannot show its log')
      const silent = await connectOther(owner, 'silent', { 'muster-features': 'logs' })
      const read = logsOf(other, 'silent')
      await eventually(() => silent.frames.some(({ type }) => type === 'read_logs'))
      silent.close()
      expect((await read).detail).toContain('is offline')
      expect(old.frames.some(({ type }) => type === 'read_logs')).toBe(false)
    }, 30_000)

    it('cannot be read while a live master does not know such requests', async () => {
      const server = await startRedis()
      closes.push(() => server.close())
      const backend = new RedisBackend({ url: parseStoreUrl(server.url), time: systemTime, random: systemRandom })
      const master = await masterOf({
        backend,
        timers: { ...systemTime, every: (_, run) => systemTime.every(200, run) },
      })
      const text = JSON.stringify({ version: '0.1.0', layout: 1, features: [], additions: ['cancel', 'pause'] })
      await backend.meta.beat('older')
      await backend.meta.declare('older', text)
      await backend.workers.register([
        { type: 'mailer', id: 'w', conn: 'older/1', instance: 'i', hardware: '{}', defaults: '{}' },
      ])
      await eventually(async () => (await master.call('GET', '/api/v1/me')).text.includes('0.1.0'))
      expect(await logsOf(master, 'w')).toMatchObject({
        status: 503,
        detail: expect.stringContaining('"logs" cannot be used yet: a live master runs version 0.1.0'),
      })
    }, 30_000)
  })
})
