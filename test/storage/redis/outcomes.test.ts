/** Tests how outcomes are stored in Redis: beside an older release, in a full server, and without leftovers. */
import { expect, it } from '@jest/globals'
import type { Redis } from 'ioredis'
import { DAY, leasesOf, type ManualClock, sole, task, TYPE, VISIBILITY } from '../contract/fixture.ts'
import type { Lease, NewTask, Tasks } from '../../../src/storage/index.ts'
import { withRedisServer } from '../../kit/redis-server.ts'
import type { TracedCaller } from './traced.ts'
import { onTracedTasks } from './traced-tasks.ts'

const KEY = `muster:{a:${TYPE}}:`
const RETAIN_MS = 60_000

let client: Redis
let clock: ManualClock
let caller: TracedCaller
let tasks: Tasks

async function leased(...items: readonly NewTask[]): Promise<readonly Lease[]> {
  await tasks.submit(TYPE, DAY, items, 1_000)
  const requests = [{ worker: 'w:1', limit: items.length, gen: 0, defaultMaxAttempts: 3 }]
  return leasesOf(sole((await tasks.reserve(TYPE, VISIBILITY, requests)).results))
}

const commandsOfLastRun = (): number => caller.runs.at(-1)?.commands.length ?? 0

withRedisServer('redis outcomes', () => {
  onTracedTasks((on) => void ({ client, clock, caller, tasks } = on))

  it('are not kept of tasks that a master of an older release leased, and leave nothing behind (D110)', async () => {
    const leases = await leased(task('a', { retainMs: RETAIN_MS }))
    const lease = String(await client.hget(`${KEY}l`, 'a'))
    expect(lease).toMatch(/^\d+:03:3:w:1/)
    await client.hset(`${KEY}l`, 'a', lease.replace(':03:', ':3:')) // As the older release writes it.
    expect(await tasks.ack(TYPE, leases)).toEqual(['ok'])
    expect(await tasks.describe(TYPE, ['a'])).toEqual([null])
    for (const part of ['t', 'l', 'v', 'o', 'oz']) expect([part, await client.exists(KEY + part)]).toEqual([part, 0])
  })

  it('keep the attempts of a lease, whose number begins with a 0', async () => {
    const leases = await leased(task('a', { retainMs: RETAIN_MS }))
    const failed = { error: 'boom', retryInMs: 0, permanent: true, jitter: 0 }
    const retry = { baseMs: 0, factor: 1, capMs: 0 }
    expect(await tasks.nack(TYPE, retry, [{ ...sole(leases), ...failed }])).toEqual(['dead'])
    expect((await tasks.dead(TYPE, 1)).items).toMatchObject([{ id: 'a', attempt: 1, maxAttempts: 3 }])
  })

  it('are not kept in a server that is nearly full, and the ack succeeds (D110)', async () => {
    const leases = await leased(task('a', { retainMs: RETAIN_MS }), task('b', { retainMs: RETAIN_MS }))
    const used = Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1])
    await client.config('SET', 'maxmemory', String(Math.floor(used * 1.02)))
    try {
      expect(await tasks.ack(TYPE, leases.slice(0, 1))).toEqual(['ok'])
    } finally {
      await client.config('SET', 'maxmemory', '0')
    }
    expect(await tasks.ack(TYPE, leases.slice(1))).toEqual(['ok'])
    expect(await tasks.describe(TYPE, ['a', 'b'])).toMatchObject([null, { kind: 'done' }])
  })

  it('count their bytes down to 0', async () => {
    const result = { kind: 'json', text: '"naïve 🦊"' } as const
    const items = ['a', 'ü'].map((id) => task(id, { retainMs: RETAIN_MS }))
    await tasks.ack(
      TYPE,
      (await leased(...items)).map((lease) => ({ ...lease, result })),
      1,
    )
    expect(Number(await client.hget(`${KEY}m`, 'ob'))).toBeGreaterThan(0)
    clock.advance(RETAIN_MS)
    expect(await tasks.sweep(TYPE, 0, 500)).toMatchObject({ more: false })
    expect(await client.hget(`${KEY}m`, 'ob')).toBe('0')
    expect(await client.exists(`${KEY}o`, `${KEY}oz`)).toBe(0)
  })

  it('cost an ack of other tasks no command', async () => {
    await tasks.ack(TYPE, await leased(task('first', { retainMs: RETAIN_MS })))
    await tasks.ack(TYPE, await leased(task('a')))
    expect(commandsOfLastRun()).toBe(8)
  })
})
