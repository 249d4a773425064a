/** Tests the table when a master restarts with the same store, with an older state of it, or with another store. */
import { afterEach, describe, expect, it } from '@jest/globals'
import { register } from '../../client/fixture.ts'
import { startTestMaster, type TestMaster } from '../../kit/running-master.ts'
import { systemRandom, systemTime, VirtualTime } from '../../../src/runtime/index.ts'
import { MemoryBackend } from '../../../src/storage/memory/index.ts'
import { parseStoreUrl, RedisBackend } from '../../../src/storage/redis/index.ts'
import { startRedis, withRedisServer, type RedisServer } from '../../kit/redis-server.ts'
import { backendOn, folders } from '../../storage/sqlite/fixture.ts'
import { fleetOf, pathOf, registered, type FleetFixture } from './fixture.ts'

const masters: TestMaster[] = []
const servers: RedisServer[] = []
afterEach(async () => {
  await Promise.all(masters.splice(0).map((master) => master.stop()))
  await Promise.all(servers.splice(0).map((server) => server.close()))
})
async function start(options: Parameters<typeof startTestMaster>[0]): Promise<TestMaster> {
  const master = await startTestMaster(options)
  masters.push(master)
  return master
}
const resets = ({ changes }: FleetFixture): number => changes.filter(({ kind }) => kind === 'state_reset').length

describe('a master that restarts', () => {
  const folder = folders()

  it('with its store continues: the epoch is the same, nothing is compared again', async () => {
    const { file } = folder()
    const first = await start({ backend: backendOn(file, systemTime) })
    await register(first, 'w1')
    const w = await fleetOf(first.url)
    const before = registered(w.fleet.get('mailer', 'w1'))
    const { port } = first
    await first.stop()
    await w.pass(2_000)
    const second = await start({ backend: backendOn(file, systemTime), listen: { host: '127.0.0.1', port } })
    await second.call('PATCH', pathOf('w1', '/config'), { body: { slots: 7 } })
    await w.until('the edit is seen', () => registered(w.fleet.get('mailer', 'w1')).record.config['slots'] === 7)
    expect([registered(w.fleet.get('mailer', 'w1')).epoch, resets(w)]).toEqual([before.epoch, 0])
  })

  it('with an empty store is reported once, and every worker is pending until it is listed', async () => {
    const memory = () => new MemoryBackend({ clock: systemTime, random: systemRandom })
    const first = await start({ backend: memory() })
    await register(first, 'w1')
    await register(first, 'w2')
    const w = await fleetOf(first.url)
    const before = registered(w.fleet.get('mailer', 'w1'))
    const { port } = first
    await first.stop()
    const second = await start({ backend: memory(), listen: { host: '127.0.0.1', port } })
    await register(second, 'w1')
    await w.until('another epoch is seen', () => resets(w) === 1)
    await w.until('everything is listed', () => w.fleet.isSynced)
    const after = registered(w.fleet.get('mailer', 'w1'))
    expect([after.epoch === before.epoch, w.fleet.get('mailer', 'w2').kind]).toEqual([false, 'unregistered'])
    expect(w.changes.at(-1)).toEqual({ kind: 'listed', type: 'mailer' })
    expect([
      w.fleet.hasForgotten(after, { epoch: before.epoch, generation: 0 }),
      w.fleet.hasForgotten(after, { epoch: after.epoch, generation: 0 }),
    ]).toEqual([true, false])
    expect([resets(w), await w.metric(/^svc_operator_master_state_resets_total/)]).toEqual([1, 1])
  })
})

describe('the state that the operator remembers', () => {
  it('of another epoch of the store is lost at the master, which is reported once after a start', async () => {
    const master = await start({})
    await register(master, 'w1')
    const w = await fleetOf(master.url)
    const seen = registered(w.fleet.get('mailer', 'w1'))
    const found = ['w1', 'w2', 'w3'].map(() => w.fleet.hasForgotten(seen, { epoch: 'an older one', generation: 0 }))
    expect([found, resets(w)]).toEqual([[true, true, true], 1])
  })

  it('with a higher generation shows that the store was restored, reported once a minute', async () => {
    const master = await start({})
    await register(master, 'w1')
    const w = await fleetOf(master.url)
    const seen = registered(w.fleet.get('mailer', 'w1'))
    const remembered = { epoch: seen.epoch, generation: 9 }
    expect([w.fleet.hasForgotten(seen, remembered), w.fleet.hasForgotten(seen, remembered), resets(w)]).toEqual([
      true,
      true,
      1,
    ])
    await w.pass(60_000)
    expect([w.fleet.hasForgotten(seen, remembered), resets(w)]).toEqual([true, 2])
  })
})

withRedisServer('a Redis that is flushed', () => {
  describe('a Redis that is flushed', () => {
    it('is another store for the fleet client', async () => {
      const server = await startRedis()
      servers.push(server)
      const time = new VirtualTime() // The master checks its store's epoch every 5 s.
      const master = await start({
        backend: new RedisBackend({ url: parseStoreUrl(server.url), time: systemTime, random: systemRandom }),
        timers: time,
      })
      await register(master, 'w1')
      const w = await fleetOf(master.url, { time })
      expect(w.fleet.get('mailer', 'w1').kind).toBe('registered')
      await server.connect().flushall()
      await w.until('another epoch is seen', () => resets(w) === 1)
      await w.until('everything is listed', () => w.fleet.isSynced)
      expect(w.fleet.get('mailer', 'w1').kind).toBe('unregistered')
    })
  })
})
