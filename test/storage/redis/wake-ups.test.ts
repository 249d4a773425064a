/** Tests which masters a new task wakes, where every master registers when it finds the queue empty (D253). */
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, describe, expect, it } from '@jest/globals'
import { seededRandom, systemTime } from '../../../src/runtime/index.ts'
import type { MasterSignal } from '../../../src/storage/index.ts'
import { parseStoreUrl, RedisBackend } from '../../../src/storage/redis/index.ts'
import { eventually } from '../../kit/eventually.ts'
import { startRedis, withRedisServer, type RedisServer } from '../../kit/redis-server.ts'
import { inFlight, nack, reserve, submit, TYPE } from '../contract/fixture.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close()
})

interface Master {
  readonly backend: RedisBackend
  readonly signals: MasterSignal[]
}
const CHOSEN = { kind: 'wake', type: TYPE, isChosen: true } as const

/** Starts masters that know of each other. */
async function masters(count: number): Promise<{ server: RedisServer; all: readonly Master[] }> {
  const server = await startRedis()
  open.push(server)
  const all: Master[] = []
  for (let n = 1; n <= count; n += 1) {
    const backend = new RedisBackend({ url: parseStoreUrl(server.url), time: systemTime, random: seededRandom(n) })
    open.push(backend)
    await backend.open(AbortSignal.timeout(20_000))
    const signals: MasterSignal[] = []
    backend.bus.onSignal((signal) => void signals.push(signal))
    all.push({ backend, signals })
    await backend.meta.beat(`m${n}`)
  }
  await settle(all)
  for (const [n, { backend }] of all.entries()) await backend.meta.beat(`m${n + 1}`)
  return { server, all }
}

/** Waits until every message that was published before has arrived, and forgets all. @returns who was woken. */
async function settle(all: readonly Master[]): Promise<readonly number[]> {
  const [first] = all
  for (let n = 1; n <= all.length; n += 1) await first?.backend.bus.signal(`m${n}`, { kind: 'wake', type: 'last' })
  const isLast = (signal: MasterSignal): boolean => signal.kind === 'wake' && signal.type === 'last'
  await eventually('the last message', () => all.every(({ signals }) => signals.some(isLast)))
  const woken = all.flatMap(({ signals }, n) => signals.filter((signal) => !isLast(signal)).map(() => n + 1))
  for (const { signals } of all) signals.length = 0
  return woken
}

async function waitingInOrder(all: readonly Master[], ...numbers: readonly number[]): Promise<void> {
  for (const number of numbers) {
    expect(await reserve(all[number - 1]?.backend as RedisBackend, 1)).toEqual([])
    await pause(2) // Who registered first is a matter of milliseconds.
  }
}

withRedisServer('redis wake-ups', () => {
  describe('redis wake-ups', () => {
    it('reach two of the masters that wait, those that registered first', async () => {
      const { all } = await masters(5)
      const [first] = all as [Master]
      await waitingInOrder(all, 4, 2, 5, 3)
      await submit(first.backend, 'a')
      const [two, four] = [all[1]?.signals, all[3]?.signals]
      await eventually('both are woken', () => two?.length === 1 && four?.length === 1)
      expect([two, four]).toEqual([[CHOSEN], [CHOSEN]])
      expect(await settle(all)).toEqual([2, 4])
      expect(await reserve(first.backend, 1)).toHaveLength(1)
      await submit(first.backend, 'b')
      expect(await settle(all)).toEqual([3, 5])
      expect(await reserve(first.backend, 1)).toHaveLength(1)
      await submit(first.backend, 'c')
      expect(await settle(all)).toEqual([])
    })

    it('do not reach masters that stopped, however many there were', async () => {
      const { server, all } = await masters(3)
      const stopped = Array.from({ length: 100 }, (_, n) => [Date.now() - 6_000, `stopped ${n}`]).flat()
      await server.connect().zadd(`muster:{a:${TYPE}}:wm`, ...stopped)
      await waitingInOrder(all, 2, 3)
      await submit((all[0] as Master).backend, 'a')
      expect(await settle(all)).toEqual([2, 3])
      expect(await server.connect().zcard(`muster:{a:${TYPE}}:wm`)).toBe(0)
    })

    it('reach up to eight for many tasks', async () => {
      const { all } = await masters(11)
      await waitingInOrder(all, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
      await submit((all[0] as Master).backend, ...Array.from({ length: 20 }, (_, n) => `t${n}`))
      expect(await settle(all)).toEqual([2, 3, 4, 5, 6, 7, 8, 9])
    })

    it('cost at most 3.2 reserves a task with 30 masters, and each task is leased immediately', async () => {
      const { all } = await masters(30)
      const [first, ...others] = all as [Master, ...Master[]]
      let [reserves, leased] = [0, 0]
      const lease = async ({ backend }: Master): Promise<void> => {
        reserves += 1
        const found = await reserve(backend, 8)
        leased += found.length
      }
      for (const master of others)
        master.backend.bus.onSignal((signal) => {
          if (signal.kind === 'wake' && signal.type === TYPE) void lease(master)
        })
      for (let n = 1; n <= 20; n += 1) {
        for (const { backend } of others) expect(await reserve(backend, 1)).toEqual([]) // As every second.
        await submit(first.backend, `t${n}`)
        await eventually('the task is leased', () => leased === n)
        await settle(all)
      }
      expect(reserves / 20).toBeLessThanOrEqual(3.2)
    })

    it('do not reach the master that submits, and leave the others to be woken', async () => {
      const { all } = await masters(4)
      await waitingInOrder(all, 1, 2, 3, 4)
      await submit((all[0] as Master).backend, 'a')
      expect(await settle(all)).toEqual([2, 3])
    })

    it('still reach a master that has submitted a task and leased it itself', async () => {
      const { all } = await masters(2)
      const [first, second] = all as [Master, Master]
      await waitingInOrder(all, 1)
      await submit(first.backend, 'a')
      expect(await reserve(first.backend, 1)).toHaveLength(1) // Others of its workers still wait.
      await submit(second.backend, 'b')
      expect(await settle(all)).toEqual([1])
    })

    it('are passed on by a reserve that leaves tasks in the queue, and not by one that empties it', async () => {
      const { all } = await masters(5)
      const [first, second] = all as [Master, Master]
      await waitingInOrder(all, 2, 3, 4, 5)
      await submit(first.backend, 'a', 'b')
      expect(await settle(all)).toEqual([2, 3])
      expect(await reserve(second.backend, 1)).toHaveLength(1)
      expect(await settle(all)).toEqual([4])
      expect(await reserve(second.backend, 1)).toHaveLength(1)
      expect(await settle(all)).toEqual([])
    })

    it('are passed on by a master without a waiting worker while a task is pending', async () => {
      const { all } = await masters(4)
      const [first, second] = all as [Master, Master]
      await waitingInOrder(all, 2, 3, 4)
      await submit(first.backend, 'a')
      expect(await settle(all)).toEqual([2, 3])
      await second.backend.bus.passWake(TYPE)
      expect(await settle(all)).toEqual([4])
      expect(await reserve(first.backend, 1)).toHaveLength(1)
      await reserve(all[3]?.backend as RedisBackend, 1)
      await second.backend.bus.passWake(TYPE)
      expect(await settle(all)).toEqual([])
    })

    it('reach the master itself whose reserve makes more retries pending than it returns', async () => {
      const { all } = await masters(2)
      const [first] = all as [Master]
      await nack(first.backend, await inFlight(first.backend, 'a', 'b'), { retryInMs: 0 })
      await settle(all)
      expect(await reserve(first.backend, 1)).toHaveLength(1)
      expect(await settle(all)).toContain(1)
    })

    it('reach every master while one of an older release is alive, which does not register', async () => {
      const { server, all } = await masters(4)
      const [first] = all as [Master]
      await server.connect().zadd('muster:{m}:live', Date.now(), 'older')
      await first.backend.meta.beat('m1')
      await waitingInOrder(all, 2)
      await submit(first.backend, 'a')
      expect(await settle(all)).toEqual([2, 3, 4])
    })

    it('reach every master from the moment that one joins, until the next heartbeat', async () => {
      const { server, all } = await masters(3)
      const [first] = all as [Master]
      await server.connect().publish('muster:join', 'm9')
      await waitingInOrder(all, 2)
      await settle(all)
      await submit(first.backend, 'a')
      expect(await settle(all)).toEqual([2, 3])
      await first.backend.meta.beat('m1')
      expect(await reserve(first.backend, 1)).toHaveLength(1)
      await submit(first.backend, 'b')
      expect(await settle(all)).toEqual([2])
    })
  })
})
