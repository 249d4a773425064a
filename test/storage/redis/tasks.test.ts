/**
 * Tests the scripts of tasks: how many commands they send, what remains when one of these fails, when they wake the
 * masters, and which tokens they issue after restarts of the store.
 */
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { Redis } from 'ioredis'
import { createTasks } from '../../../src/storage/redis/tasks.ts'
import { RedisWorkers } from '../../../src/storage/redis/workers.ts'
import {
  DAY,
  HOUR,
  ManualClock,
  MINUTE,
  RETRY,
  SECOND,
  TYPE,
  VISIBILITY,
  ids,
  leasesOf,
  refOf,
  registration,
  sole,
  task,
} from '../contract/fixture.ts'
import { errorGroup, type Lease, type NewTask, type ReplayPace, type Tasks } from '../../../src/storage/index.ts'
import { contents } from './atomicity.ts'
import { startRedis, withRedisServer, type RedisServer } from '../../kit/redis-server.ts'
import { TracedCaller } from './traced.ts'

const SEGMENT = 2 ** 20
const READS = new Set([
  'HGET',
  'HGETALL',
  'HMGET',
  'HLEN',
  'HEXISTS',
  'ZRANGE',
  'ZMSCORE',
  'ZSCORE',
  'LRANGE',
  'GETBIT',
])
const KEY = `muster:{a:${TYPE}}:`

let server: RedisServer
let client: Redis
let clock: ManualClock
let caller: TracedCaller
let tasks: Tasks

const batch = (n: number, more: Partial<NewTask> = {}): NewTask[] =>
  Array.from({ length: n }, (_, i) => task(`t${String(i).padStart(5, '0')}`, { ownId: true, ...more }))
const submit = (...items: readonly NewTask[]) => tasks.submit(TYPE, DAY, items, 1_000_000)
const reserve = (limit = 500) =>
  tasks.reserve(TYPE, VISIBILITY, [{ worker: 'w:1', limit, gen: 0, defaultMaxAttempts: 3 }])
const leased = async (limit = 500): Promise<readonly Lease[]> => leasesOf(sole((await reserve(limit)).results))
const nack = (leases: readonly Lease[], permanent = false, retryInMs: number | null = SECOND) =>
  tasks.nack(
    TYPE,
    RETRY,
    leases.map((lease) => ({ ...refOf(lease), error: 'boom', retryInMs, permanent, jitter: 0.5 })),
  )
const commandsOf = async (call: () => Promise<unknown>): Promise<readonly string[]> => {
  await call()
  return caller.runs.at(-1)?.commands ?? []
}
const wakes = async (call: () => Promise<unknown>): Promise<boolean> => (await commandsOf(call)).includes('PUBLISH')

/** Empties the store and registers the worker that reserves tasks. */
async function emptied(): Promise<void> {
  await client.flushall()
  await new RedisWorkers(caller, async () => []).register([registration('w:1', 'm1/1')])
}

const applyToGroup = (action: 'replay' | 'remove', pace?: ReplayPace): Promise<number> =>
  tasks.applyToDeadGroup(TYPE, { group: errorGroup('boom'), action, diedBeforeMs: clock.wallMs() + 1, n: 500, pace })

async function inFlight(n: number): Promise<readonly Lease[]> {
  const leases: Lease[] = []
  const all = batch(n)
  for (let from = 0; from < n; from += 500) {
    await submit(...all.slice(from, from + 500))
    leases.push(...(await leased()))
  }
  return leases
}

/**
 * Fills the store with a task in every place. Returns one call of every method that moves tasks. `keeps`: the ids that
 * must not be lost.
 */
async function moves(): Promise<
  readonly { readonly name: string; readonly keeps: readonly string[]; readonly call: () => Promise<unknown> }[]
> {
  const held = await inFlight(6)
  await nack(held.slice(0, 1))
  await nack(held.slice(1, 3), true)
  await submit(task('high', { tier: 0, key: 'k', ttlMs: HOUR }), task('old', { ttlMs: SECOND }), task('normal'))
  clock.advance(VISIBILITY)
  const live = ['t00000', 't00001', 't00002', 't00003', 't00004', 't00005', 'high', 'normal']
  const but = (...gone: readonly string[]): string[] => live.filter((id) => !gone.includes(id))
  return [
    { name: 'submit', keeps: [...live, 'new'], call: () => submit(task('new', { ownId: true, ttlMs: HOUR })) },
    {
      name: 'submit, delayed',
      keeps: [...live, 'later'],
      call: () => submit(task('later', { ownId: true, ttlMs: HOUR, notBeforeMs: clock.wallMs() + SECOND })),
    },
    { name: 'reserve', keeps: live, call: () => reserve() },
    { name: 'ack', keeps: but('t00003'), call: () => tasks.ack(TYPE, held.slice(3, 4)) },
    { name: 'release', keeps: live, call: () => tasks.release(TYPE, held.slice(3, 5)) },
    { name: 'nack', keeps: live, call: () => nack(held.slice(3, 5)) },
    { name: 'nack, dying', keeps: live, call: () => nack(held.slice(3, 5), true) },
    {
      name: 'extend',
      keeps: live,
      call: () =>
        tasks.extend(
          TYPE,
          held.slice(3).map((lease) => ({ ...refOf(lease), visibilityMs: MINUTE })),
        ),
    },
    { name: 'sweep', keeps: live, call: () => tasks.sweep(TYPE, 0, 500) },
    { name: 'sweep, dying', keeps: live, call: () => tasks.sweep(TYPE, 1, 500) },
    { name: 'replay', keeps: live, call: () => tasks.replay(TYPE, 2) },
    { name: 'apply to dead', keeps: live, call: () => tasks.applyToDead(TYPE, 'replay', ['t00002']) },
    {
      name: 'apply to dead, removing',
      keeps: but('t00002'),
      call: () => tasks.applyToDead(TYPE, 'remove', ['t00002']),
    },
    { name: 'replay of a group', keeps: live, call: () => applyToGroup('replay') },
    {
      name: 'replay of a group, paced',
      keeps: live,
      call: () => applyToGroup('replay', { delayMs: 0, intervalMs: SECOND }),
    },
    { name: 'removal of a group', keeps: but('t00001', 't00002'), call: () => applyToGroup('remove') },
    {
      name: 'replay of an edited task',
      keeps: live,
      call: async () => {
        const { diedAtMs = 0, body = '' } = (await tasks.deadTask(TYPE, 't00002')) ?? {}
        return tasks.replayEdited(TYPE, 't00002', diedAtMs, body)
      },
    },
    {
      name: 'cancel',
      keeps: but('t00000', 't00003', 'high'),
      call: () => tasks.cancel(TYPE, ['t00000', 't00003', 'high'], 'admin'),
    },
  ]
}

/** Returns the ids of all tasks that a worker can reserve later or that are in the dead-letter queue. */
async function found(): Promise<Set<string>> {
  const seen = new Set<string>()
  for (let i = 0; i < 4; i += 1) {
    clock.advance(30 * SECOND)
    await tasks.sweep(TYPE, 0, 500)
    for (const id of [...ids(await leased()), ...ids((await tasks.dead(TYPE, 100)).items)]) seen.add(id)
  }
  return seen
}

withRedisServer('redis scripts of tasks', () => {
  beforeAll(async () => {
    server = await startRedis()
    client = server.connect()
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    clock = new ManualClock()
    caller = new TracedCaller(client, clock)
    tasks = createTasks(caller, 'p', clock)
    await emptied()
  })

  describe('redis scripts of tasks, commands', () => {
    it('are as many for a hundred tasks as for one', async () => {
      const counted = async (n: number): Promise<Record<string, number>> => {
        await submit(task(`first ${n}`))
        const all = batch(n)
        const runs: Record<string, number> = {}
        const note = async <T>(name: string, call: () => Promise<T>): Promise<T> => {
          const answer = await call()
          runs[name] = caller.runs.at(-1)?.commands.length ?? 0
          return answer
        }
        await note('submit', () => submit(...all))
        await tasks.ack(TYPE, await leased(1)) // The first ack of a segment creates its fingerprints.
        const leases = leasesOf(sole((await note('reserve', () => reserve(n))).results))
        await note('extend', () =>
          tasks.extend(
            TYPE,
            leases.map((lease) => ({ ...refOf(lease), visibilityMs: HOUR })),
          ),
        )
        await note('locate', () => tasks.locate(TYPE, ids(leases)))
        await note('locate, gone', () =>
          tasks.locate(
            TYPE,
            ids(leases).map((id) => `${id}?`),
          ),
        )
        await note('ack', () => tasks.ack(TYPE, leases))
        await submit(...all)
        await note('release', async () => tasks.release(TYPE, await leased(n)))
        await note('nack', async () => nack(await leased(n), false, 0))
        await note('nack, dying', async () => nack(await leased(n), true))
        await note('dead', () => tasks.dead(TYPE, n))
        await note('replay', () => tasks.replay(TYPE, n))
        await note('queue', () => tasks.queue(TYPE, n))
        await leased(n)
        clock.advance(VISIBILITY)
        await client.hset(`${KEY}m`, 'fs', '0|0|9999999999999') // Not at the facts of tasks: facts.test.ts.
        await note('sweep', () => tasks.sweep(TYPE, 0, 500))
        await note('sweep, none', () => tasks.sweep(TYPE, 0, 500))
        await leased()
        await note('reserve, none', () => reserve())
        await note('counts', () => tasks.counts([TYPE]))
        await note('cancel, in flight', () => tasks.cancel(TYPE, ids(leases), 'admin'))
        await note('cancel, none', () => tasks.cancel(TYPE, ids(leases), 'admin'))
        return runs
      }
      const expected = {
        submit: 8,
        reserve: 13,
        ack: 8,
        extend: 3,
        release: 5,
        nack: 8,
        'nack, dying': 24,
        dead: 5,
        replay: 18,
        queue: 7,
        sweep: 14,
        'sweep, none': 5,
        'reserve, none': 9, // With the registration of a master that is not alone.
        counts: 7,
        locate: 3,
        'locate, gone': 4,
        'cancel, in flight': 10,
        'cancel, none': 6,
      }
      expect(await counted(1)).toEqual(expected)
      await emptied()
      expect(await counted(100)).toEqual(expected)
      // On a server, a script that needs the time sends one more command: TIME. The test passes its own clock instead.
      expect((expected.submit + expected.reserve + expected.ack + 3) / 100).toBeLessThanOrEqual(0.32)
    })

    it('of a cancel of pending tasks are at most 16, and other calls send no more afterwards', async () => {
      for (const n of [1, 100]) {
        await emptied()
        await submit(task('first'))
        await leased()
        await submit(...batch(n + 1))
        const gone = ids(batch(n + 1)).slice(0, -1)
        expect((await commandsOf(() => tasks.cancel(TYPE, gone, 'admin'))).length).toBeLessThanOrEqual(16)
        expect(await commandsOf(() => submit(...batch(1)))).toHaveLength(8)
        expect(await commandsOf(() => reserve(2))).toHaveLength(13)
      }
    })

    it('change nothing when a command up to the first write fails', async () => {
      const { length } = await moves()
      for (let i = 0; i < length; i += 1) {
        await emptied()
        const move = (await moves())[i]
        const before = await contents(client)
        for (caller.failsAt = 1; ; caller.failsAt += 1) {
          await expect(move?.call()).rejects.toThrow('injected')
          const next = caller.runs.at(-1)?.commands.at(-1) ?? ''
          if (!READS.has(next)) break
          expect([move?.name, isDeepStrictEqual(await contents(client), before)]).toEqual([move?.name, true])
        }
        caller.failsAt = 0
      }
    })

    it('lose no task, whichever of them fails (G1)', async () => {
      const { length } = await moves()
      for (let i = 0; i < length; i += 1) {
        let isDone = false
        for (let at = 1; !isDone; at += 1) {
          await emptied()
          const move = (await moves())[i]
          caller.failsAt = at
          isDone = await (move?.call() ?? Promise.resolve()).then(
            () => true,
            () => false,
          )
          caller.failsAt = 0
          if (!isDone) await move?.call()
          const seen = await found()
          expect([move?.name, at, move?.keeps.filter((id) => !seen.has(id))]).toEqual([move?.name, at, []])
        }
      }
    }, 90_000)

    it("accept lists that are longer than Lua's limit of arguments", async () => {
      await inFlight(9_000)
      clock.advance(VISIBILITY)
      expect(await tasks.sweep(TYPE, 1, 10_000)).toEqual({
        requeued: 0,
        promoted: 0,
        dead: 9_000,
        forgottenKeys: 0,
        more: false,
      })
      const { length, items } = await tasks.dead(TYPE, 10_000)
      expect([length, ids(items)]).toEqual([9_000, ids(batch(9_000))])
      for (let n = 0; n < 9_000; n += 500) await tasks.replay(TYPE, 500)
      expect(ids((await tasks.queue(TYPE, 10_000)).items)).toEqual(ids(batch(9_000)))
    }, 30_000)

    it('use keys of one hash tag only, and no key has a TTL', async () => {
      for (const { call } of await moves()) await call().catch(() => undefined)
      const keys = await client.keys('*')
      expect(keys.filter((key) => !key.startsWith(KEY))).toEqual([])
      expect(await Promise.all(keys.map((key) => client.ttl(key)))).toEqual(keys.map(() => -1))
    })
  })

  describe('redis scripts of tasks, wake-ups', () => {
    it('are published when a tier was empty, and only then', async () => {
      expect(await wakes(() => submit(...batch(3)))).toBe(true)
      expect(await wakes(() => submit(task('another')))).toBe(false)
      expect(await wakes(() => submit(task('high', { tier: 0 })))).toBe(true)
      expect(await wakes(() => submit(...batch(1)))).toBe(false)
      const leases = await leased()
      expect(await wakes(() => tasks.release(TYPE, leases.slice(0, 1)))).toBe(true)
      expect(await wakes(() => tasks.release(TYPE, leases.slice(1, 2)))).toBe(true)
      expect(await wakes(() => tasks.release(TYPE, leases.slice(2, 3)))).toBe(false)
      await leased()
      await nack(leases.slice(3), true)
      expect(await wakes(() => tasks.replay(TYPE, 1))).toBe(true)
      await nack(await leased(), true)
      const { items } = await tasks.dead(TYPE, 1)
      expect(await wakes(() => tasks.applyToDead(TYPE, 'replay', ids(items)))).toBe(true)
      await leased()
      clock.advance(VISIBILITY)
      expect(await wakes(() => tasks.sweep(TYPE, 0, 500))).toBe(true)
      expect(await wakes(() => tasks.sweep(TYPE, 0, 500))).toBe(false)
    })

    it('are published for a delayed task that is the first to be due (D104)', async () => {
      const later = (id: string, ms: number): NewTask => task(id, { notBeforeMs: clock.wallMs() + ms })
      expect(await wakes(() => submit(later('a', MINUTE)))).toBe(true)
      expect(await wakes(() => submit(later('b', MINUTE + 1)))).toBe(false)
      expect(await wakes(() => submit(later('c', HOUR), later('d', SECOND)))).toBe(true)
      expect(await wakes(() => submit(later('now', 0)))).toBe(true) // Its tier was empty.
      expect(await reserve()).toMatchObject({ nextDueAtMs: clock.wallMs() + SECOND })
    })

    it('are published by a resume, for masters whose reserves wait (D106)', async () => {
      const pause = { note: null, actor: 'ada', untilMs: null }
      await submit(...batch(1))
      expect(await wakes(() => tasks.pause(TYPE, pause))).toBe(false)
      expect(await wakes(() => tasks.resume(TYPE))).toBe(true)
      expect(await wakes(() => tasks.resume(TYPE))).toBe(false)
    })

    it('and delays cost a submit without one no command', async () => {
      const plain = await commandsOf(() => submit(task('a')))
      expect(plain.filter((command) => ['ZADD', 'SADD', 'ZRANGE'].includes(command))).toEqual([])
      const delayed = await commandsOf(() => submit(task('b', { notBeforeMs: clock.wallMs() + MINUTE })))
      expect(delayed).toEqual(expect.arrayContaining(['ZRANGE', 'ZADD', 'SADD']))
    })

    it('are published for promoted retries that a reserve leaves in the queue', async () => {
      await nack(await inFlight(3), false, 0)
      expect(await wakes(() => reserve(1))).toBe(true)
      await tasks.release(TYPE, await leased())
      await nack(await leased(), false, 0)
      expect(await wakes(() => reserve(100))).toBe(false)
    })
  })

  describe('redis scripts of tasks, tokens', () => {
    const next = async (): Promise<Lease> => {
      await submit(task('a'))
      return sole(await leased())
    }

    it('start above those of earlier runs of the store and never decrease (D24)', async () => {
      const atStart = Math.ceil((clock.wallMs() * 1024) / SEGMENT) * SEGMENT
      const first = await next()
      expect(first.token).toBe(atStart + 1)
      await tasks.release(TYPE, [first])
      const second = sole(await leased())
      expect(second.token).toBe(atStart + 2)
      await tasks.ack(TYPE, [second])
      caller.life = 'run-2'
      clock.stepWall(-HOUR)
      expect((await next()).token).toBe(atStart + SEGMENT + 1)
    })

    it('that a restored older store has not issued are reported as not issued (G26)', async () => {
      const [first] = await inFlight(1)
      if (first === undefined) throw new Error('one was leased')
      const image = await Promise.all(
        (await client.keys('*')).map(
          async (name) => [name, (await client.dumpBuffer(name)) ?? Buffer.alloc(0)] as const,
        ),
      )
      await submit(...batch(9).slice(1))
      const gone = await leased()
      await client.flushall()
      for (const [name, dump] of image) await client.restore(name, 0, dump)
      const settle = async (): Promise<unknown[]> => [
        await tasks.ack(TYPE, gone.slice(0, 2)),
        await tasks.release(TYPE, gone.slice(2, 4)),
        await nack(gone.slice(4, 6)),
        (
          await tasks.extend(
            TYPE,
            gone.slice(6).map((lease) => ({ ...refOf(lease), visibilityMs: MINUTE })),
          )
        ).map(({ kind }) => kind),
      ]
      const proof = Array.from({ length: 4 }, () => ['not_issued', 'not_issued'])
      expect(await settle()).toEqual(proof)
      caller.life = 'run-2'
      clock.advance(SECOND)
      const fresh = await inFlight(3)
      expect(await settle()).toEqual(proof)
      expect(await tasks.ack(TYPE, [...fresh, first])).toEqual(['ok', 'ok', 'ok'])
      // The edges of what was skipped: the last token before it was issued, the last one of it was not.
      const skipped = [first.token, first.token + 1, Number(fresh[0]?.token) - 1, Number(fresh[0]?.token)]
      expect(
        await tasks.release(
          TYPE,
          skipped.map((token) => ({ id: 'x', token })),
        ),
      ).toEqual(['lease_lost', 'not_issued', 'not_issued', 'lease_lost'])
    })

    it('of acked tasks are remembered for the last segments (D24)', async () => {
      const first = await next()
      const all = [first]
      await tasks.ack(TYPE, all)
      for (let life = 2; life <= 4; life += 1) {
        caller.life = `run-${life}`
        const lease = await next()
        all.push(lease)
        await tasks.ack(TYPE, [lease])
        expect(await tasks.ack(TYPE, all)).toEqual(all.map(() => 'ok'))
      }
      caller.life = 'run-5'
      const fifth = await next()
      expect(await tasks.ack(TYPE, [first])).toEqual(['lease_lost'])
      // Its segment has the bitmap of the first one, in which the bit of this token was set.
      await tasks.release(TYPE, [fifth])
      expect(await tasks.ack(TYPE, [fifth])).toEqual(['lease_lost'])
    })

    it('acked by an older release match any task, also in a segment that it began (D80)', async () => {
      const first = await next()
      await submit(task('b'))
      const second = sole(await leased())
      await tasks.ack(TYPE, [first])
      // The state that an older release writes: only the bitmap.
      await client.unlink(`${KEY}h0`, `${KEY}h1`, `${KEY}h2`, `${KEY}h3`)
      expect(await tasks.ack(TYPE, [first])).toEqual(['ok'])
      await client.hset(`${KEY}m`, { t0: '1', t1: '1', t2: '1', t3: '1' })
      expect(await tasks.ack(TYPE, [first, second, { ...second, id: 'x' }])).toEqual(['ok', 'ok', 'lease_lost'])
      expect(await tasks.ack(TYPE, [first, second, { ...second, id: 'x' }])).toEqual(['ok', 'ok', 'lease_lost'])
    })

    it('acked by an older release match any task in a segment that replaced another one (D80)', async () => {
      await submit(task('old'))
      await tasks.ack(TYPE, await leased())
      for (let life = 2; life <= 4; life += 1) {
        caller.life = `run-${life}`
        await tasks.ack(TYPE, [await next()])
      }
      caller.life = 'run-5' // Its segment has the bitmap and the fingerprints of the first one.
      const first = await next()
      const slot = Number(await client.hget(`${KEY}m`, 'n')) % 4
      await client.setbit(`${KEY}k${slot}`, first.token % SEGMENT, 1)
      await client.hdel(`${KEY}l`, first.id)
      await submit(task('b'))
      expect(await tasks.ack(TYPE, await leased())).toEqual(['ok'])
      expect(await tasks.ack(TYPE, [first])).toEqual(['ok'])
    })

    it('of one reserve are in one segment; a new segment starts if they do not fit (D24)', async () => {
      const { token } = await next()
      const edge = Math.ceil(token / SEGMENT) * SEGMENT
      await client.hset(`${KEY}m`, 'f', String(edge - 10))
      await submit(...batch(300))
      const leases = await leased()
      expect(leases.map((lease) => lease.token)).toEqual(leases.map((_, i) => edge + 1 + i))
      const some = leases.filter((_, i) => i % 3 !== 1).toReversed()
      expect(await tasks.ack(TYPE, some)).toEqual(some.map(() => 'ok'))
      const again = leases.map((lease, i) => (i % 3 === 1 ? { ...lease, id: 'unknown' } : lease))
      expect(await tasks.ack(TYPE, again)).toEqual(leases.map((_, i) => (i % 3 === 1 ? 'lease_lost' : 'ok')))
    })
  })

  describe('redis scripts of tasks, malformed entries', () => {
    it('do not include the keys of ended windows, which a sweep removes (G17)', async () => {
      await submit(task('a', { key: 'k' }))
      clock.advance(DAY)
      expect(await tasks.sweep(TYPE, 0, 500)).toMatchObject({ forgottenKeys: 1 })
      expect(await client.exists(`${KEY}i`, `${KEY}iz`)).toBe(0)
    })

    it('are dropped and counted', async () => {
      await client.rpush(`${KEY}p1`, 'nonsense', 'more: nonsense', '1|2||1|||0|0|0:without a body')
      await submit(task('a'))
      expect(await reserve(1)).toMatchObject({ results: [{ leases: [] }], dropped: 3 })
      expect(ids(await leased())).toEqual(['a'])
      await client.zadd(`${KEY}v`, 1, 'no lease')
      expect(await tasks.sweep(TYPE, 0, 500)).toMatchObject({ requeued: 0, more: false })
      expect(await client.zscore(`${KEY}v`, 'no lease')).toBe(null)
    })

    it('are dropped when their TTL has expired', async () => {
      await submit(task('a', { ttlMs: MINUTE }), task('b', { body: `{"payload":"${'x'.repeat(5_000)}"}` }))
      clock.advance(MINUTE)
      expect(await reserve()).toMatchObject({ results: [{ leases: [{ id: 'b' }] }], dropped: 1 })
    })
  })
})
