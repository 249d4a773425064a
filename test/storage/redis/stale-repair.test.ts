/** Tests that the sweep repairs what a master of an earlier release, which does not know cancels, leaves behind. */
import { expect, it } from '@jest/globals'
import type { Redis } from 'ioredis'
import type { Tasks } from '../../../src/storage/index.ts'
import { withRedisServer } from '../../kit/redis-server.ts'
import { DAY, sole, task, TYPE } from '../contract/fixture.ts'
import { onTracedTasks } from './traced-tasks.ts'

const KEY = `muster:{a:${TYPE}}:`
const TASKS = Array.from({ length: 3_000 }, (_, n) => `t${n}`)

withRedisServer('the repair of stale tickets', () => {
  let client: Redis
  let tasks: Tasks
  onTracedTasks((on) => void ({ client, tasks } = on))

  const pending = async (): Promise<number> => {
    const [high, normal, low] = sole(await tasks.counts([TYPE])).tiers
    return high + normal + low
  }

  it('forgets those whose tier is empty, a part in each sweep, and counts nothing below 0 until then', async () => {
    const submitted = TASKS.map((id) => task(id, { ownId: true }))
    for (let from = 0; from < TASKS.length; from += 500)
      await tasks.submit(TYPE, DAY, submitted.slice(from, from + 500), 1_000_000)
    await tasks.submit(TYPE, DAY, [task('high', { ownId: true, tier: 0 }), task('high 2', { tier: 0 })], 1_000_000)
    const cancelled = ['high', ...TASKS.filter((_, n) => n % 2 === 1 && n < TASKS.length - 1)]
    for (let from = 0; from < cancelled.length; from += 500)
      await tasks.cancel(TYPE, cancelled.slice(from, from + 500), 'admin')
    expect(await pending()).toBe(TASKS.length + 2 - cancelled.length)
    expect(await client.hlen(`${KEY}x`)).toBe(cancelled.length - 1) // The ends of a tier are cut by the cancel.

    await client.del(`${KEY}p1`) // The earlier release has leased and dropped all of the tier.
    expect(await pending()).toBe(1)
    const left: number[] = []
    do {
      await tasks.sweep(TYPE, 0, 500)
      left.push(await client.hlen(`${KEY}x`))
      expect(await pending()).toBe(1)
    } while (left.at(-1) !== 0 && left.length < 10)
    expect(left.length).toBeGreaterThan(1)
    expect(left.at(-1)).toBe(0)
    expect(await client.hget(`${KEY}m`, 'st')).toBeNull()
  })

  it('finds the few of an empty tier among many of another one', async () => {
    const submit = (ids: readonly string[], tier: 0 | 1): Promise<unknown> =>
      tasks.submit(
        TYPE,
        DAY,
        ids.map((id) => task(id, { ownId: true, tier })),
        1_000_000,
      )
    for (let from = 0; from < TASKS.length; from += 500) await submit(TASKS.slice(from, from + 500), 0)
    await submit(['x', 'y', 'z'], 1)
    await tasks.cancel(TYPE, ['y'], 'admin')
    for (let from = 1; from < TASKS.length - 1; from += 500)
      await tasks.cancel(TYPE, TASKS.slice(from, Math.min(from + 500, TASKS.length - 1)), 'admin')
    await client.del(`${KEY}p1`)
    for (let sweeps = 0; sweeps < 5; sweeps += 1) await tasks.sweep(TYPE, 0, 500)
    expect(await client.hexists(`${KEY}x`, 'y')).toBe(0)
    expect(await client.hlen(`${KEY}x`)).toBe(TASKS.length - 2)
    expect(await pending()).toBe(2)
  })

  it('keeps those of a tier that is not empty', async () => {
    await tasks.submit(
      TYPE,
      DAY,
      ['a', 'b', 'c'].map((id) => task(id, { ownId: true })),
      1_000_000,
    )
    await tasks.cancel(TYPE, ['b'], 'admin')
    await tasks.sweep(TYPE, 0, 500)
    expect(await client.hkeys(`${KEY}x`)).toEqual(['b'])
    expect(await pending()).toBe(2)
  })
})
