/** Tests how failed attempts are stored in Redis: beside an older release, and without leftovers (D115). */
import { expect, it } from '@jest/globals'
import type { Redis } from 'ioredis'
import { DAY, leasesOf, type ManualClock, RETRY, SECOND, sole, task, TYPE } from '../contract/fixture.ts'
import type { Lease, Tasks } from '../../../src/storage/index.ts'
import { withRedisServer } from '../../kit/redis-server.ts'
import type { TracedCaller } from './traced.ts'
import { onTracedTasks } from './traced-tasks.ts'

const KEY = `muster:{a:${TYPE}}:`
const VISIBILITY_MS = 600 * SECOND

withRedisServer('redis facts', () => {
  let client: Redis
  let clock: ManualClock
  let caller: TracedCaller
  let tasks: Tasks
  onTracedTasks((on) => void ({ client, clock, caller, tasks } = on))

  const submit = async (...ids: readonly string[]): Promise<unknown> =>
    tasks.submit(
      TYPE,
      DAY,
      ids.map((id) => task(id, { ownId: true })),
      1_000,
    )
  async function reserve(): Promise<readonly Lease[]> {
    const requests = [{ worker: 'w:1', limit: 500, gen: 0, defaultMaxAttempts: 3 }]
    return leasesOf(sole((await tasks.reserve(TYPE, VISIBILITY_MS, requests)).results))
  }
  const fail = (leases: readonly Lease[], permanent = false, retryInMs = 0): Promise<unknown> =>
    tasks.nack(
      TYPE,
      RETRY,
      leases.map((lease) => ({ ...lease, error: 'boom', retryInMs, permanent, jitter: 0 })),
    )
  const plainRun = async (): Promise<readonly number[]> => {
    const counts: number[] = []
    const count = (): number => counts.push(caller.runs.at(-1)?.commands.length ?? 0)
    await submit('a', 'b')
    count()
    const leases = await reserve()
    count()
    await tasks.ack(TYPE, leases)
    count()
    await tasks.sweep(TYPE, 0, 500)
    count()
    return counts
  }
  const sizes = async (): Promise<readonly number[]> => [await client.hlen(`${KEY}e`), await client.hlen(`${KEY}de`)]
  /** @returns the sweeps until no facts are left. */
  async function sweepAll(): Promise<number> {
    for (let sweeps = 1; sweeps < 100; sweeps += 1) {
      await tasks.sweep(TYPE, 0, 500)
      if ((await client.exists(`${KEY}e`, `${KEY}de`)) === 0) return sweeps
    }
    throw new Error('the facts stay')
  }

  it('cost tasks that did not fail no command, also beside some that did', async () => {
    await plainRun()
    const before = await plainRun()
    expect(before).toEqual([9, 15, 8, 5])
    await submit('failed')
    await fail(await reserve(), false, 3_600_000)
    await tasks.sweep(TYPE, 0, 500)
    expect(await plainRun()).toEqual(before)
  })

  it('mark ticket and lease in a way that an older release reads as a number', async () => {
    await submit('a')
    await fail(await reserve())
    await reserve()
    expect(await client.hget(`${KEY}l`, 'a')).toMatch(/^\d+:003:3:w:1\d+\|\d+\|\|1\|\|\|1\|0\|2:a$/)
  })

  it('of tasks that an older release ended are removed by the sweep, a part in each (D115)', async () => {
    const ids = Array.from({ length: 200 }, (_, i) => `t${i}`)
    await submit(...ids)
    await fail(await reserve())
    expect(await sizes()).toEqual([200, 0])
    await client.del(...['t', 'd', 's'].map((part) => KEY + part)) // The older release has leased and acked all.
    expect(await sweepAll()).toBeGreaterThan(1)
    expect(await client.hget(`${KEY}m`, 'fs')).toBeNull()
  })

  it('of dead tasks that an older release replayed or removed are removed by the sweep', async () => {
    await submit('a', 'b')
    await fail(await reserve(), true)
    expect(await sizes()).toEqual([0, 2])
    await client.del(...['dz', 'dt', 'dm'].map((part) => KEY + part))
    await sweepAll()
    expect(await client.hget(`${KEY}m`, 'fs')).toBeNull()
  })

  it('that an older release left behind do not reach a new task with the id, except in listings', async () => {
    await submit('a')
    await fail(await reserve())
    await client.del(...['t', 'd', 's'].map((part) => KEY + part))
    await submit('a')
    const [lease] = await reserve()
    expect(sole(await tasks.describe(TYPE, ['a']))).toEqual({ kind: 'stored', place: 'in_flight' })
    if (lease === undefined) throw new Error('the task is pending')
    await fail([lease], true)
    expect(sole(await tasks.describe(TYPE, ['a']))?.attempts).toHaveLength(1)
  })

  it('stay while their task is stored, in each place', async () => {
    await submit('live', 'dead')
    const leases = await reserve()
    await fail(leases.filter(({ id }) => id === 'live'))
    await fail(
      leases.filter(({ id }) => id === 'dead'),
      true,
    )
    for (let i = 0; i < 3; i += 1) await tasks.sweep(TYPE, 0, 500)
    expect(await sizes()).toEqual([1, 1])
    await tasks.clearDead(TYPE)
    await tasks.ack(TYPE, await reserve())
    expect(await sizes()).toEqual([0, 0])
    clock.advance(60 * SECOND)
    await tasks.sweep(TYPE, 0, 500)
    expect(await client.hget(`${KEY}m`, 'fs')).toBeNull()
  })
})
