/**
 * A drain acknowledged by one master, while the poll of the worker waits at a third one without its socket (G14, D78).
 */
import { afterEach, describe, expect, it } from '@jest/globals'
import { systemRandom, systemTime } from '../../../src/runtime/index.ts'
import { parseStoreUrl, RedisBackend } from '../../../src/storage/redis/index.ts'
import type { Tasks } from '../../../src/storage/index.ts'
import { registration, task } from '../../storage/contract/fixture.ts'
import { startRedis, withRedisServer, type RedisServer } from '../../kit/redis-server.ts'
import { startTestMaster, TOKENS, type TestMaster } from '../../kit/running-master.ts'
import { eventually } from '../../kit/index.ts'

const PATH = '/api/v1/automations/mailer/workers/w'
const open: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close()
})

async function master(server: RedisServer, change: (backend: RedisBackend) => void = () => {}): Promise<TestMaster> {
  const backend = new RedisBackend({ url: parseStoreUrl(server.url), time: systemTime, random: systemRandom })
  change(backend)
  const running = await startTestMaster({ backend })
  open.push(() => running.stop())
  return running
}

withRedisServer('a drain with three masters', () => {
  describe('a drain with three masters', () => {
    it('ends the poll at the third master, and returns the lease that is in progress there', async () => {
      const server = await startRedis()
      open.push(() => server.close())
      let letGo = (): void => {}
      let onLeased = (): void => {}
      const held = new Promise<void>((resolve) => (letGo = resolve))
      const leased = new Promise<void>((resolve) => (onLeased = resolve))
      const asked = await master(server)
      const before = await asked.backend.meta.beat('probe')
      await master(server)
      const socketHolder = (await asked.backend.meta.beat('probe')).find((id) => !before.includes(id))
      const third = await master(server, (backend) => {
        const { tasks } = backend
        Object.assign(backend, {
          tasks: {
            ...tasks,
            reserve: async (...args: Parameters<Tasks['reserve']>) => {
              const answer = await tasks.reserve(...args)
              onLeased()
              await held
              return answer
            },
          },
        })
      })
      await asked.backend.workers.register([registration('w', `${socketHolder}/1`, { type: 'mailer' })])
      await asked.backend.tasks.submit('mailer', 60_000, [task('t', { body: '{"payload":{"to":"a"}}' })])
      const poll = third.call('POST', `${PATH}/rpc`, {
        token: TOKENS.worker,
        body: { jsonrpc: '2.0', id: 1, method: 'tasks.reserve', params: { limit: 1, wait_ms: 20_000 } },
      })
      await leased
      expect((await asked.call('POST', `${PATH}/drain`)).status).toBe(200)
      const drainedMs = performance.now()
      expect((await poll).json).toMatchObject({ result: { tasks: [] } })
      expect(performance.now() - drainedMs).toBeLessThan(10_000) // Without the signal it ends after 20 s.
      letGo()
      await eventually(async () => (await asked.backend.tasks.locate('mailer', ['t']))[0] === 'pending')
    }, 20_000)
  })
})
