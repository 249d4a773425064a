/** Tests that the groups of dead tasks are repaired after a release that keeps none has used the store (D160). */
import { expect, it } from '@jest/globals'
import type { Redis } from 'ioredis'
import { DAY, ids, leasesOf, type ManualClock, RETRY, SECOND, sole, task, TYPE } from '../contract/fixture.ts'
import { errorGroup, type Lease, type Tasks } from '../../../src/storage/index.ts'
import { withRedisServer } from '../../kit/redis-server.ts'
import type { TracedCaller } from './traced.ts'
import { onTracedTasks } from './traced-tasks.ts'

const KEY = `muster:{a:${TYPE}}:`
const FAR = 9_000_000_000_000
const GROUP = errorGroup('code 1')

withRedisServer('redis groups of dead tasks', () => {
  let client: Redis
  let clock: ManualClock
  let caller: TracedCaller
  let tasks: Tasks
  onTracedTasks((on) => void ({ client, clock, caller, tasks } = on))

  async function inFlight(...names: readonly string[]): Promise<readonly Lease[]> {
    await tasks.submit(
      TYPE,
      DAY,
      names.map((id) => task(id, { ownId: true })),
      1_000,
    )
    const requests = [{ worker: 'w:1', limit: 500, gen: 0, defaultMaxAttempts: 3 }]
    return leasesOf(sole((await tasks.reserve(TYPE, 600 * SECOND, requests)).results))
  }
  async function die(error: string, ...names: readonly string[]): Promise<void> {
    const leases = await inFlight(...names)
    const nacks = leases.map((lease) => ({ ...lease, error, retryInMs: null, permanent: true, jitter: 0 }))
    expect(await tasks.nack(TYPE, RETRY, nacks)).toEqual(leases.map(() => 'dead'))
    clock.advance(1)
  }
  /** Does what an earlier release does, whose scripts do not change the groups. */
  async function byEarlierRelease(act: () => Promise<unknown>): Promise<void> {
    const groups = ['dq', 'di', 'dg'].map((part) => KEY + part)
    const before = await Promise.all(groups.map((key) => client.dumpBuffer(key)))
    const grouped = await client.hget(`${KEY}m`, 'dl')
    await act()
    for (const [i, key] of groups.entries()) {
      await client.del(key)
      const dump = before[i]
      if (dump != null) await client.restore(key, 0, dump)
    }
    if (grouped === null) await client.hdel(`${KEY}m`, 'dl')
    else await client.hset(`${KEY}m`, 'dl', grouped)
  }
  /** @returns the steps of the repair. */
  async function repair(n: number): Promise<number> {
    for (let steps = 1; steps < 50; steps += 1) if (!(await tasks.groupDead(TYPE, n))) return steps
    throw new Error('the repair does not end')
  }
  const counts = async (): Promise<readonly (readonly [string, number])[]> =>
    (await tasks.deadGroups(TYPE)).map(({ example, count }) => [example.lastError, count])
  const newest = async (): Promise<readonly string[]> => ids((await tasks.newestDead(TYPE, GROUP, null, 100)).items)

  it('are made in bounded steps for a store that has none', async () => {
    await byEarlierRelease(async () => {
      await die('code 1', 'a', 'b', 'c')
      await die('else', 'd')
      await die('code 2', 'e')
    })
    expect(await counts()).toEqual([])
    expect(await tasks.groupDead(TYPE, 2)).toBe(true)
    expect(await counts()).toEqual([['code 1', 2]])
    await die('code 3', 'f')
    await repair(2)
    expect(await counts()).toEqual([
      ['code 3', 5],
      ['else', 1],
    ])
    expect(await newest()).toEqual(['f', 'e', 'c', 'b', 'a'])
    expect(await repair(2)).toBe(1)
    expect(caller.runs.at(-1)?.commands).toEqual(['HMGET', 'HLEN', 'ZCARD'])
  })

  it('get the tasks that died, and lose those that were replayed, in an earlier release', async () => {
    await die('code 1', 'a', 'b', 'c', 'd')
    await byEarlierRelease(() => die('code 2', 'e'))
    await repair(500)
    expect(await newest()).toEqual(['e', 'd', 'c', 'b', 'a'])
    await byEarlierRelease(() => tasks.applyToDead(TYPE, 'remove', ['b']))
    await byEarlierRelease(() => tasks.replay(TYPE, 1))
    await repair(2)
    expect(await newest()).toEqual(['e', 'd', 'c'])
    await byEarlierRelease(() => tasks.clearDead(TYPE))
    await repair(2)
    expect(await counts()).toEqual([])
    expect((await client.keys(`${KEY}d[qig]`)).length).toBe(0)
  })

  it('never replay a task that has left its group unnoticed', async () => {
    await die('code 1', 'a', 'b')
    await byEarlierRelease(async () => {
      await tasks.applyToDead(TYPE, 'remove', ['a'])
      await die('else', 'a')
    })
    expect(await tasks.applyToDeadGroup(TYPE, { group: GROUP, action: 'replay', diedBeforeMs: FAR, n: 1 })).toBe(1)
    expect(await tasks.locate(TYPE, ['a', 'b'])).toEqual(['dead', 'pending'])
    await repair(500)
    expect(await counts()).toEqual([['else', 1]])
  })

  it('have one entry of a task that dies again after an earlier release replayed it', async () => {
    await die('code 1', 'a')
    await byEarlierRelease(() => tasks.applyToDead(TYPE, 'remove', ['a']))
    await die('code 2', 'a')
    expect(await counts()).toEqual([['code 2', 1]])
    expect(await newest()).toEqual(['a'])
  })
})
