/**
 * Tests the event stream of the built command: one master on a file, and several masters on one Redis (D31, D33, D51).
 */
import { afterEach, describe, expect, it } from '@jest/globals'
import { Listener, type ListenOptions } from '../master/events/listener.ts'
import { withRedisServer } from '../kit/redis-server.ts'
import { ADMIN_TOKEN, Fleet } from './fleet.ts'
import { Masters, submit } from './masters.ts'
import { SocketWorker } from './socket-worker.ts'
import { eventually } from '../kit/index.ts'

const open: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close()
})

async function listen({ url }: Fleet, options: ListenOptions = {}): Promise<Listener> {
  const listener = await Listener.begin(url, { token: ADMIN_TOKEN, ...options })
  open.push(() => listener.close())
  return listener
}

async function join(fleet: Fleet, id: string, type = 'slow'): Promise<SocketWorker> {
  const worker = await SocketWorker.join(fleet, type, id)
  open.push(() => worker.leave())
  return worker
}

const receives = (listener: Listener, name: string, id: string): Promise<void> =>
  listener.until(() => listener.events.some((event) => event.name === name && event.data['worker_id'] === id))
const ids = ({ events }: Listener): readonly string[] => events.map(({ id }) => id)

describe('the events of one master on a file', () => {
  it('report changes, resume while the master runs, and begin with reset after a restart (D31)', async () => {
    const fleet = new Fleet()
    open.push(() => fleet.stop())
    const master = await fleet.startMaster()
    const listener = await listen(fleet)
    const begun = listener.lastId
    const worker = await join(fleet, 'w', 'http-request')
    worker.state(0)
    await fleet.ok('PUT', '/automations/http-request/workers/w/claim', { managed_by: 'me' })
    await fleet.ok('POST', '/automations/http-request/tasks', { payload: { url: 'http://127.0.0.1:1/' } })
    await listener.until(() => listener.names.includes('queue.totals'))
    expect(listener.names.toSorted()).toEqual([
      'queue.totals',
      'worker.claimed',
      'worker.config_applied',
      'worker.connected',
      'worker.registered',
    ])
    const resumed = await listen(fleet, { lastEventId: begun })
    await resumed.first(5)
    expect(resumed.events).toEqual(listener.events.slice(0, 5))

    master.child.kill('SIGTERM')
    expect(await listener.ended).toBe(true)
    await master.exited
    await fleet.startMaster()
    const after = await listen(fleet, { lastEventId: listener.lastId })
    expect((await after.first(1)).map(({ name }) => name)).toEqual(['reset'])
  }, 60_000)
})

withRedisServer('the events of several masters', () => {
  const mastersOf = async (count: number): Promise<Masters> => {
    const masters = await Masters.start(count)
    open.push(() => masters.stop())
    return masters
  }

  it('are the same at each master, in one order, and resume at any other (D33, G10)', async () => {
    const masters = await mastersOf(3)
    const listeners = await Promise.all(masters.all.map((fleet) => listen(fleet)))
    const begun = listeners.map(({ lastId }) => lastId)
    for (const [at, fleet] of masters.all.entries()) {
      const worker = await join(fleet, `w-${at}`)
      worker.state(0)
      await masters.at(at - 1).ok('PATCH', `/automations/slow/workers/w-${at}/config`, { slots: 2 })
      await masters.at(at - 1).ok('PUT', `/automations/slow/workers/w-${at}/claim`, { managed_by: 'me' })
      worker.leave()
    }
    await submit(masters.at(1), { ms: 0 })
    for (const listener of listeners) {
      for (const at of masters.all.keys()) await receives(listener, 'worker.disconnected', `w-${at}`)
      await listener.until(() => listener.names.includes('queue.totals'))
    }
    const [first] = listeners
    if (first === undefined) throw new Error('there is no listener')
    for (const listener of listeners) await listener.first(first.events.length)
    for (const listener of listeners) expect(listener.events).toEqual(first.events)
    expect(new Set(ids(first)).size).toBe(first.events.length)
    expect(first.names.filter((name) => name === 'queue.totals')).toHaveLength(1)

    for (const [at, lastEventId] of [...begun, ...ids(first)].entries()) {
      const resumed = await listen(masters.at(at % 3), { lastEventId })
      const from = ids(first).indexOf(lastEventId) + 1
      await resumed.first(first.events.length - from)
      expect(resumed.events).toEqual(first.events.slice(from))
      resumed.close()
    }
  }, 60_000)

  it('report the workers of a killed master as disconnected, and continue at the other masters (D33)', async () => {
    const masters = await mastersOf(2)
    const [left, killed] = [masters.at(0), masters.at(1)]
    const [here, there] = [await listen(left), await listen(killed)]
    await join(left, 'stays')
    await join(killed, 'goes')
    await Promise.all([
      receives(here, 'worker.connected', 'goes'),
      receives(there, 'worker.connected', 'stays'),
      receives(there, 'worker.connected', 'goes'),
    ])
    await masters.end(1)
    expect(await there.ended).toBe(false)
    await submit(left, { ms: 0 })
    const resumed = await listen(left, { lastEventId: there.lastId })
    for (const listener of [here, resumed])
      await Promise.all([
        receives(listener, 'worker.disconnected', 'goes'),
        listener.until(() => listener.names.includes('queue.totals')),
      ])
    for (const listener of [here, resumed]) {
      expect(
        listener.events.filter(({ name }) => name === 'worker.disconnected').map(({ data }) => data['worker_id']),
      ).toEqual(['goes'])
      expect(listener.names).not.toContain('reset')
    }
    await masters.restart(1)
    const back = await listen(killed, { lastEventId: here.lastId })
    await join(killed, 'goes')
    await receives(back, 'worker.connected', 'goes')
    expect(back.names).not.toContain('reset')
  }, 90_000)

  it('contain reset when the store was flushed, for open and for resuming streams (D46)', async () => {
    const masters = await mastersOf(2)
    const listeners = await Promise.all(masters.all.map((fleet) => listen(fleet)))
    await join(masters.at(0), 'w')
    for (const listener of listeners) await receives(listener, 'worker.connected', 'w')
    const [{ lastId } = { lastId: '' }] = listeners
    await masters.redis.connect().call('FLUSHALL')
    for (const listener of listeners) await listener.until(() => listener.names.includes('reset'))
    await eventually(
      'the masters serve the new epoch',
      async () => (await masters.at(1).call('GET', '/me')).status === 200,
    )
    const resumed = await listen(masters.at(1), { lastEventId: lastId })
    expect((await resumed.first(1))[0]?.name).toBe('reset')
  }, 60_000)
})
