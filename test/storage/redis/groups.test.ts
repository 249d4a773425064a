/**
 * Tests how groups of tasks are stored in Redis: that nothing remains of them, how they survive a process that has no
 * policy for the type, the need, and stale tickets (D119, D121).
 */
import { expect, it } from '@jest/globals'
import type { Redis } from 'ioredis'
import { createTasks } from '../../../src/storage/redis/tasks.ts'
import { DAY, HOSTILE, leasesOf, type ManualClock, sole, task, TYPE, VISIBILITY } from '../contract/fixture.ts'
import type { GroupPolicy, Lease, NewTask, Tasks } from '../../../src/storage/index.ts'
import { eventually } from '../../kit/index.ts'
import { withRedisServer } from '../../kit/redis-server.ts'
import type { TracedCaller } from './traced.ts'
import { onTracedTasks } from './traced-tasks.ts'

const key = (part: string): string => `muster:{a:${TYPE}}:${part}`
const KEYS = ['gt', 'gq', 'gn', 'gr', 'gw', 'gl', 'ga'].map(key)
const ONE: GroupPolicy = { maxInFlight: 1, rate: null }
const FAIR: GroupPolicy = { maxInFlight: null, rate: null }
const MINUTE = 60_000
const FAILURE = { error: 'x', retryInMs: 60_000, permanent: false, jitter: 0 }

withRedisServer('redis groups', () => {
  let client: Redis
  let clock: ManualClock
  let caller: TracedCaller
  let tasks: Tasks
  const create = (process: string): Tasks => createTasks(caller, process, clock)
  onTracedTasks((on) => void ({ client, clock, caller, tasks } = on))

  const inGroup = (id: string, group: string, more: Partial<NewTask> = {}): NewTask => ({
    ...task(id, { ownId: true, ...more }),
    group,
    body: `{"group_key":${JSON.stringify(group)},"payload":{},"priority":0,"submitted_at":1}`,
  })
  const submit = (...items: readonly NewTask[]) => tasks.submit(TYPE, DAY, items)
  const reserve = async (limit = 500, of = tasks): Promise<readonly Lease[]> => {
    const request = { worker: 'w:1', limit, gen: 0, defaultMaxAttempts: 3 }
    return leasesOf(sole((await of.reserve(TYPE, VISIBILITY, [request])).results))
  }
  const idsOf = (leases: readonly Lease[]): readonly string[] => leases.map(({ id }) => id)
  const reserved = async (limit?: number, of?: Tasks): Promise<readonly string[]> => idsOf(await reserve(limit, of))

  it('takes turns, and leaves nothing behind when all tasks have ended', async () => {
    await tasks.setGroupPolicy(TYPE, FAIR)
    await submit(...['a1', 'a2', 'a3', 'a4'].map((id) => inGroup(id, 'a')), inGroup('b1', 'b'), task('n1'))
    expect(await client.exists(...['p0', 'p1', 'p2'].map(key))).toBe(0)
    const first = await reserve(4)
    expect(idsOf(first)).toEqual(['n1', 'a1', 'b1', 'a2'])
    await submit(inGroup('c1', 'c'), inGroup('b2', 'b'))
    const second = await reserve()
    expect(idsOf(second)).toEqual(['a3', 'b2', 'c1', 'a4'])
    await tasks.ack(TYPE, [...first, ...second])
    expect(await client.exists(...KEYS)).toBe(0)
    expect(await client.hlen(key('t'))).toBe(0)
  })

  it('records the need before the first policy, and never for other types (D121)', async () => {
    await tasks.setGroupPolicy(TYPE, null)
    await submit(task('plain'))
    await tasks.sweep(TYPE, 0, 500)
    expect(await client.hget('muster:{m}:info', 'needs')).toBeNull()
    await tasks.setGroupPolicy(TYPE, FAIR)
    expect(await client.hget('muster:{m}:info', 'needs')).toBe('groups')
  })

  it('reads the group from any body', async () => {
    await tasks.setGroupPolicy(TYPE, ONE)
    for (const [i, name] of HOSTILE.entries()) {
      const fields = { retain_seconds: 0.5, unique_key: HOSTILE[i], group_key: name, payload: { group_key: 'x' } }
      const body = JSON.stringify(fields)
      await submit({ ...inGroup(`t${i}`, name), body, retainMs: 500 }, { ...inGroup(`u${i}`, name), body })
    }
    const rows = await tasks.groups(TYPE, 100)
    expect(new Set(rows.map(({ group }) => group))).toEqual(new Set(HOSTILE))
    expect(rows).toHaveLength(HOSTILE.length)
    expect(rows.every(({ pending, inFlight }) => pending === 2 && inFlight === 0)).toBe(true)
    expect((await reserve()).length).toBe(HOSTILE.length)
  })

  it('takes in what a process without a policy left, and counts its leases', async () => {
    const other = create('other')
    await submit(inGroup('a1', 'a'), inGroup('a2', 'a'), inGroup('b1', 'b'))
    const [lease] = await reserve(1, other)
    await tasks.setGroupPolicy(TYPE, ONE)
    expect(await reserved()).toEqual(['b1'])
    await other.ack(TYPE, [lease as Lease]) // The group does not learn of it.
    expect(await reserved()).toEqual([])
    clock.advance(MINUTE)
    await tasks.sweep(TYPE, 0, 500)
    expect(await reserved()).toEqual(['a2', 'b1'])
    expect(await client.hkeys(key('gn'))).toEqual(expect.arrayContaining(['a2']))
    expect(await client.hexists(key('gn'), 'a1')).toBe(0)
  })

  it('puts tasks back in order for a type without a policy, many of them in several calls', async () => {
    await tasks.setGroupPolicy(TYPE, ONE)
    const names = Array.from({ length: 2_500 }, (_, i) => `t${i}`)
    for (let from = 0; from < 2_500; from += 500)
      await submit(...names.slice(from, from + 500).map((id, i) => inGroup(id, `g${i % 7}`)))
    await submit(inGroup('high', 'a', { tier: 0 }))
    const other = create('other')
    await other.submit(TYPE, DAY, [task('late')])
    await other.sweep(TYPE, 0, 500)
    const seen: string[] = []
    for (let i = 0; i < 6; i += 1) seen.push(...(await reserved(500, other)))
    expect(seen).toEqual(['high', ...names, 'late'])
    expect(await client.exists(...KEYS)).toBe(0)
  })

  it('forgets stale tickets that arrived before the policy', async () => {
    await submit(inGroup('a1', 'a'), inGroup('a2', 'a'), inGroup('a3', 'a'))
    await tasks.cancel(TYPE, ['a2'], 'admin')
    await tasks.setGroupPolicy(TYPE, FAIR)
    await submit(inGroup('a2', 'b'))
    expect((await tasks.counts([TYPE]))[0]?.tiers).toEqual([0, 3, 0])
    expect(await reserved()).toEqual(['a1', 'a2', 'a3'])
    expect(await client.hget(key('m'), 'st')).toBeNull()
    expect(await client.exists(key('x'))).toBe(0)
  })

  it('take back the leases of a reserve whose reply was lost, which count no more (D81)', async () => {
    await tasks.setGroupPolicy(TYPE, ONE)
    await submit(inGroup('a1', 'a'), inGroup('a2', 'a'), inGroup('b1', 'b'))
    caller.loses = 'tasks.reserve'
    await expect(reserve()).rejects.toThrow('the response was lost')
    caller.loses = null
    expect(await reserved(1)).toEqual(['a1'])
    expect(await tasks.groups(TYPE, 10)).toEqual([
      { group: 'a', pending: 1, inFlight: 1, nextStartAtMs: null },
      { group: 'b', pending: 1, inFlight: 0, nextStartAtMs: null },
    ])
  })

  it.each<[string, (lease: Lease) => Promise<unknown>]>([
    ['an ack', (lease) => tasks.ack(TYPE, [lease])],
    ['a release', (lease) => tasks.release(TYPE, [lease])],
    ['a cancel', (lease) => tasks.cancel(TYPE, [lease.id], 'admin')],
    ['a nack', (lease) => tasks.nack(TYPE, { baseMs: 1, factor: 1, capMs: 1 }, [{ ...lease, ...FAILURE }])],
    [
      'a sweep of its lease',
      () => {
        clock.advance(VISIBILITY)
        return tasks.sweep(TYPE, 0, 500)
      },
    ],
  ])('of which a full one may start again wake the masters after %s, and only then (G30, G31)', async (_name, end) => {
    await tasks.setGroupPolicy(TYPE, ONE)
    await submit(inGroup('a1', 'a'), inGroup('a2', 'a'))
    const lease = sole(await reserve(1))
    expect(await reserved()).toEqual([])
    const messages: string[] = []
    const subscriber = client.duplicate()
    try {
      await subscriber.subscribe('muster:wake')
      subscriber.on('message', (_channel: string, message: string) => void messages.push(message))
      await submit(inGroup('a3', 'a'))
      await client.publish('muster:wake', 'mark')
      await eventually('the mark arrives', () => messages.includes('mark'))
      expect(messages).toEqual(['mark'])
      await end(lease)
      await eventually('the masters are woken', () => messages.length === 2)
      expect(messages[1]).toBe(`${TYPE} traced`)
      expect((await reserve()).length).toBe(1)
    } finally {
      subscriber.disconnect()
    }
  })
})
