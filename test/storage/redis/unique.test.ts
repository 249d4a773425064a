/** Tests how unique keys are stored in Redis: the need, entries without a task, and stale tickets (D118, D121). */
import { expect, it } from '@jest/globals'
import type { Redis } from 'ioredis'
import { DAY, leasesOf, type ManualClock, sole, task, TYPE, VISIBILITY } from '../contract/fixture.ts'
import type { Lease, NewTask, Tasks } from '../../../src/storage/index.ts'
import { withRedisServer } from '../../kit/redis-server.ts'
import { onTracedTasks } from './traced-tasks.ts'

const key = (part: string): string => `muster:{a:${TYPE}}:${part}`

withRedisServer('redis unique keys', () => {
  let client: Redis
  let clock: ManualClock
  let tasks: Tasks
  onTracedTasks((on) => void ({ client, clock, tasks } = on))

  const keyed = (id: string, uniqueKey: string, more: Partial<NewTask> = {}): NewTask =>
    task(id, { ownId: true, unique: { key: uniqueKey, until: 'started', onConflict: 'replace' }, ...more })
  const submit = (...items: readonly NewTask[]) => tasks.submit(TYPE, DAY, items)
  const reserve = async (limit = 500): Promise<readonly Lease[]> => {
    const request = { worker: 'w:1', limit, gen: 0, defaultMaxAttempts: 1 }
    return leasesOf(sole((await tasks.reserve(TYPE, VISIBILITY, [request])).results))
  }

  it('record the need before the first task that has one, and never for other tasks (D121)', async () => {
    await submit(task('plain'))
    expect(await client.hget('muster:{m}:info', 'needs')).toBeNull()
    expect(await client.exists(key('u'))).toBe(0)
    await submit(keyed('a', 'k'))
    expect(await client.hget('muster:{m}:info', 'needs')).toBe('unique')
  })

  it('are forgotten by sweeps when their tasks have ended, also if their ids are used again (G17)', async () => {
    for (let from = 0; from < 2_000; from += 500) {
      const items = Array.from({ length: 500 }, (_, i) => keyed(`t${from + i}`, `k${from + i}`))
      await submit(...items)
      await tasks.ack(TYPE, await reserve())
    }
    await submit(keyed('kept', 'kept'), task('t7', { ownId: true }), keyed('t8', 'other'))
    await tasks.nack(TYPE, { baseMs: 1, factor: 1, capMs: 1 }, [
      { ...sole(await reserve(1)), error: 'x', retryInMs: null, permanent: true, jitter: 0 },
    ])
    expect(await client.hlen(key('u'))).toBe(2_002)
    let sweeps = 0
    while ((await tasks.sweep(TYPE, 0, 500)).more) sweeps += 1
    expect(sweeps).toBeGreaterThan(5)
    for (let i = 0; i < 60; i += 1) {
      clock.advance(1)
      await tasks.sweep(TYPE, 0, 500)
    }
    expect(await client.hgetall(key('u'))).toEqual({ '"kept"': 'skept', '"other"': 'st8' })
    await tasks.clearDead(TYPE)
    await tasks.cancel(TYPE, ['t8'], 'admin')
    await tasks.sweep(TYPE, 0, 500)
    expect(await client.exists(key('u'))).toBe(0)
    expect(await client.hget(key('m'), 'uc')).toBeNull()
  })

  it('are forgotten beside large bodies, of which one sweep reads few', async () => {
    const body = (i: number): string =>
      `{"unique_key":"k${i}","payload":{"x":"${'y'.repeat(400_000)}"},"priority":0,"submitted_at":1}`
    for (let i = 0; i < 12; i += 1) await submit(keyed(`t${i}`, `k${i}`, { body: body(i) }))
    await tasks.cancel(TYPE, ['t3', 't9'], 'admin')
    await submit(...[3, 9].map((i) => task(`t${i}`, { ownId: true, body: body(99) })))
    for (let i = 0; i < 12; i += 1) {
      clock.advance(1)
      await tasks.sweep(TYPE, 0, 500)
    }
    expect((await client.hkeys(key('u'))).length).toBe(10)
  })

  it('leave few tickets behind when one task is replaced again and again', async () => {
    await submit(task('first'))
    for (let i = 0; i < 300; i += 1) await submit(keyed(`t${i}`, 'k'))
    expect(await client.llen(key('p1'))).toBeLessThan(102) // Tickets are trimmed from both ends of a longer list.
    expect((await reserve()).map(({ id }) => id)).toEqual(['first', 't299'])
    expect(await client.exists(key('x'))).toBe(0)
  })
})
