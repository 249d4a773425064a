/**
 * A drain that is acknowledged while a reserve of its worker is in progress: at the same master, and at a third one
 * without the socket of the worker (G14, D78).
 */
import { afterEach, describe, expect, it } from '@jest/globals'
import { systemRandom, systemTime } from '../../../src/runtime/index.ts'
import { parseStoreUrl, RedisBackend } from '../../../src/storage/redis/index.ts'
import { MemoryBackend } from '../../../src/storage/memory/index.ts'
import type { Backend, Tasks } from '../../../src/storage/index.ts'
import { registration, task } from '../../storage/contract/fixture.ts'
import { startRedis, withRedisServer, type RedisServer } from '../../kit/redis-server.ts'
import { startTestMaster, TOKENS, type TestMaster } from '../../kit/running-master.ts'
import { eventually } from '../../kit/index.ts'

const PATH = '/api/v1/automations/mailer/workers/w'
const POLL = {
  token: TOKENS.worker,
  body: { jsonrpc: '2.0', id: 1, method: 'tasks.reserve', params: { limit: 1, wait_ms: 20_000 } },
}
const open: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close()
})

async function start(backend: Backend): Promise<TestMaster> {
  const running = await startTestMaster({ backend })
  open.push(() => running.stop())
  return running
}

const masterOn = (server: RedisServer): Promise<TestMaster> =>
  start(new RedisBackend({ url: parseStoreUrl(server.url), time: systemTime, random: systemRandom }))

/** Holds the responses of the store to reserves. `leased` resolves when it has sent one. */
function holdReserves(backend: Backend): { readonly leased: Promise<void>; readonly letGo: () => void } {
  let onLeased = (): void => {}
  let letGo = (): void => {}
  const leased = new Promise<void>((resolve) => (onLeased = resolve))
  const held = new Promise<void>((resolve) => (letGo = resolve))
  const { tasks } = backend
  const reserve = async (...args: Parameters<Tasks['reserve']>): ReturnType<Tasks['reserve']> => {
    const result = await tasks.reserve(...args)
    onLeased()
    await held
    return result
  }
  Object.assign(backend, { tasks: { ...tasks, reserve } })
  return { leased, letGo: () => letGo() }
}

withRedisServer('a drain with three masters', () => {
  describe('a drain with three masters', () => {
    it('ends the poll at the third master, and returns the lease that is in progress there', async () => {
      const server = await startRedis()
      open.push(() => server.close())
      const asked = await masterOn(server)
      const before = await asked.backend.meta.beat('probe')
      await masterOn(server)
      const socketHolder = (await asked.backend.meta.beat('probe')).find((id) => !before.includes(id))
      const third = new RedisBackend({ url: parseStoreUrl(server.url), time: systemTime, random: systemRandom })
      const reserve = holdReserves(third)
      const pollingMaster = await start(third)
      await asked.backend.workers.register([registration('w', `${socketHolder}/1`, { type: 'mailer' })])
      await asked.backend.tasks.submit('mailer', 60_000, [task('t', { body: '{"payload":{"to":"a"}}' })])
      const poll = pollingMaster.call('POST', `${PATH}/rpc`, POLL)
      await reserve.leased
      expect((await asked.call('POST', `${PATH}/drain`)).status).toBe(200)
      const drainedMs = performance.now()
      expect((await poll).json).toMatchObject({ result: { tasks: [] } })
      expect(performance.now() - drainedMs).toBeLessThan(10_000) // Without the signal it ends after 20 s.
      reserve.letGo()
      await eventually(async () => (await asked.backend.tasks.locate('mailer', ['t']))[0] === 'pending')
    }, 20_000)
  })
})

describe('a drain', () => {
  it('ends the poll at its own master, and returns the lease that is in progress (G14)', async () => {
    const backend = new MemoryBackend({ clock: systemTime, random: systemRandom })
    const reserve = holdReserves(backend)
    const master = await start(backend)
    await backend.workers.register([registration('w', 'm/1', { type: 'mailer' })])
    await backend.tasks.submit('mailer', 60_000, [task('t', { body: '{"payload":{"to":"a"}}' })])
    const poll = master.call('POST', `${PATH}/rpc`, POLL)
    await reserve.leased
    expect((await master.call('POST', `${PATH}/drain`)).status).toBe(200)
    reserve.letGo()
    expect((await poll).json).toMatchObject({ result: { tasks: [] } })
    await eventually(async () => (await backend.tasks.locate('mailer', ['t']))[0] === 'pending')
  })
})
