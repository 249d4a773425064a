/** Contract of the bounds of task groups: leases and starts of each group (D119, G30). */
import { describe, expect, it } from '@jest/globals'
import { MINUTE, SECOND, TYPE, VISIBILITY, ask, ids, nack, reopen, reserve, sole, submit } from './fixture.ts'
import type { Create, StoreFixture } from './fixture.ts'
import { one, rateOf, inGroup, put, setPolicy, leased, rowsOf, dueOf, groupFixtures } from './group-fixture.ts'
import type { Lease } from '../../../src/storage/index.ts'

/** Every way in which a lease ends. */
const ENDS: Readonly<Record<string, (fixture: StoreFixture, lease: Lease) => Promise<unknown>>> = {
  acknowledged: ({ backend }, lease) => backend.tasks.ack(TYPE, [lease]),
  'to be retried': ({ backend }, lease) => nack(backend, [lease], { retryInMs: MINUTE }),
  dead: ({ backend }, lease) => nack(backend, [lease], { permanent: true }),
  released: ({ backend }, lease) => backend.tasks.release(TYPE, [lease]),
  cancelled: ({ backend }, { id }) => backend.tasks.cancel(TYPE, [id], 'admin'),
  'back after a lost lease': async ({ backend, clock }, lease) => {
    await backend.tasks.extend(TYPE, [{ ...lease, visibilityMs: 2 * VISIBILITY }])
    clock.advance(VISIBILITY)
    await backend.tasks.sweep(TYPE, 0, 500)
    clock.advance(VISIBILITY)
    await backend.tasks.sweep(TYPE, 0, 500)
  },
  'dead after a lost lease': async ({ backend, clock }, lease) => {
    await backend.tasks.extend(TYPE, [{ ...lease, visibilityMs: 1_000 }])
    clock.advance(VISIBILITY)
    await backend.tasks.sweep(TYPE, 1, 1)
  },
}

export function tasksGroupBounds(name: string, create: Create): void {
  const fixtureOf = groupFixtures(create)

  describe(`${name}: leases of groups`, () => {
    it.each(Object.keys(ENDS))('are bounded until one is %s (G30)', async (end) => {
      const fixture = await fixtureOf({ maxInFlight: 2, rate: null })
      const { backend } = fixture
      await put(backend, 'a1', 'a2', 'a3', 'a4', 'a5', 'b1')
      const leases = await reserve(backend)
      expect(ids(leases)).toEqual(['a1', 'b1', 'a2'])
      expect(await leased(backend)).toEqual([])
      await backend.tasks.ack(TYPE, [leases[1] as Lease])
      expect(await leased(backend)).toEqual([])
      await backend.tasks.extend(TYPE, [{ ...(leases[2] as Lease), visibilityMs: 10 * MINUTE }])
      await ENDS[end]?.(fixture, leases[0] as Lease)
      expect(await leased(backend)).toHaveLength(1)
      expect(await leased(backend)).toEqual([])
      expect(sole((await rowsOf(backend)).filter(({ group }) => group === 'a'))).toMatchObject({ inFlight: 2 })
    })

    it('are not freed twice by a lease that ends twice', async () => {
      const { backend, clock } = await fixtureOf(one)
      await put(backend, 'a1', 'a2', 'a3')
      const [lease] = await reserve(backend)
      await backend.tasks.ack(TYPE, [lease as Lease, lease as Lease])
      await backend.tasks.ack(TYPE, [lease as Lease])
      await backend.tasks.release(TYPE, [lease as Lease])
      expect(await leased(backend)).toEqual(['a2'])
      clock.advance(VISIBILITY)
      await backend.tasks.sweep(TYPE, 0, 500)
      await backend.tasks.sweep(TYPE, 0, 500)
      expect(await leased(backend)).toEqual(['a2'])
    })

    it('do not keep other groups from theirs', async () => {
      const { backend } = await fixtureOf(one)
      await put(backend, 'a1', 'a2', '-1', '-2', 'b1')
      expect(await leased(backend)).toEqual(['-1', 'a1', 'b1'])
      await put(backend, 'c1')
      expect(await leased(backend)).toEqual(['c1'])
    })

    it('keep an expired task while their group is full', async () => {
      const { backend, clock } = await fixtureOf(one)
      await submit(backend, inGroup('a1'), inGroup('a2', { ttlMs: SECOND }))
      const leases = await reserve(backend)
      clock.advance(2 * SECOND)
      expect(await ask(backend, [{ worker: 'w1', limit: 5, defaultMaxAttempts: 3 }])).toMatchObject({ dropped: 0 })
      await backend.tasks.ack(TYPE, leases)
      expect(await ask(backend, [{ worker: 'w1', limit: 5, defaultMaxAttempts: 3 }])).toMatchObject({ dropped: 1 })
    })
  })

  describe(`${name}: rates of groups`, () => {
    it('permit a burst and then one task per interval (G30)', async () => {
      const { backend, clock } = await fixtureOf(rateOf(100, 3))
      await put(backend, ...Array.from({ length: 12 }, (_, i) => `a${i}`), 'b0')
      expect(await leased(backend)).toEqual(['a0', 'b0', 'a1', 'a2'])
      clock.advance(99)
      expect(await leased(backend)).toEqual([])
      clock.advance(1)
      expect(await leased(backend)).toEqual(['a3'])
      clock.advance(250)
      expect(await leased(backend)).toEqual(['a4', 'a5'])
      clock.advance(50)
      expect(await leased(backend)).toEqual(['a6'])
      clock.advance(10 * SECOND)
      expect(await leased(backend)).toEqual(['a7', 'a8', 'a9'])
    })

    it('never let more start in a window, whatever the interval (G30)', async () => {
      const { backend, clock } = await fixtureOf(rateOf(1_000 / 7, 2))
      await put(backend, ...Array.from({ length: 200 }, (_, i) => `a${i}`))
      const starts: number[] = []
      for (let i = 0; i < 60; i += 1) {
        const leases = await reserve(backend)
        starts.push(...leases.map(() => clock.wallMs()))
        clock.advance(1 + ((i * 37) % 200))
      }
      expect(starts.length).toBeGreaterThan(30)
      for (const [i, from] of starts.entries())
        for (const [n, to] of starts.slice(i).entries())
          expect(n + 1).toBeLessThanOrEqual(2 + (to - from) / (1_000 / 7) + 1e-6)
    })

    it('count every start, also that of a task that came back', async () => {
      const { backend, clock } = await fixtureOf(rateOf(100, 1))
      await put(backend, 'a1', 'a2')
      await backend.tasks.release(TYPE, await reserve(backend))
      expect(await leased(backend)).toEqual([])
      clock.advance(100)
      expect(await leased(backend)).toEqual(['a1'])
    })

    it('let a waiting group join the turns when its time has come', async () => {
      const { backend, clock } = await fixtureOf(rateOf(100, 1))
      await put(backend, 'a1', 'a2', 'b1')
      expect(await leased(backend)).toEqual(['a1', 'b1'])
      clock.advance(50)
      await put(backend, 'c1', 'c2')
      expect(await leased(backend, 1)).toEqual(['c1'])
      clock.advance(50)
      await put(backend, 'b2')
      expect(await leased(backend)).toEqual(['a2', 'b2'])
    })

    it('are reported as the time of the next start', async () => {
      const { backend, clock } = await fixtureOf({ maxInFlight: 2, rate: { intervalMs: 100, burst: 1 } })
      const startMs = clock.wallMs()
      await put(backend, 'a1', 'a2', 'a3')
      await submit(backend, inGroup('b1', { notBeforeMs: startMs + 150 }))
      expect(await dueOf(backend)).toBe(startMs + 100)
      expect(await rowsOf(backend)).toEqual([{ group: 'a', pending: 2, inFlight: 1, nextStartAtMs: startMs + 100 }])
      const refused = await backend.tasks.reserve(TYPE, VISIBILITY, [
        { worker: 'unknown', limit: 1, gen: 0, defaultMaxAttempts: 3 },
      ])
      expect(refused.nextDueAtMs).toBe(startMs + 150)
      clock.advance(100)
      expect(await dueOf(backend)).toBe(startMs + 150) // The group is full.
      expect(await rowsOf(backend)).toEqual([{ group: 'a', pending: 1, inFlight: 2, nextStartAtMs: null }])
      clock.advance(50)
      expect(await dueOf(backend)).toBeNull()
    })

    it('report no time for a group without pending tasks', async () => {
      const { backend, clock } = await fixtureOf(rateOf(100, 1))
      await put(backend, 'a1', 'a2')
      expect(await dueOf(backend)).toBe(clock.wallMs() + 100)
      await backend.tasks.cancel(TYPE, ['a2'], 'admin')
      expect(await dueOf(backend)).toBeNull()
      await put(backend, 'a3')
      expect(await dueOf(backend)).toBe(clock.wallMs() + 100)
    })

    it('outlive the last task of their group, and a restart if the store is durable', async () => {
      const { backend, clock } = await fixtureOf(rateOf(MINUTE, 2))
      await put(backend, 'a1')
      await backend.tasks.ack(TYPE, await reserve(backend))
      for (let i = 0; i < 3; i += 1) await backend.tasks.sweep(TYPE, 0, 500)
      await put(backend, 'a2', 'a3')
      expect(await leased(backend)).toEqual(['a2'])
      if (backend.capabilities.durable) await reopen(backend)
      await setPolicy(backend, rateOf(MINUTE, 2))
      expect(await leased(backend)).toEqual([])
      clock.advance(MINUTE)
      expect(await leased(backend)).toEqual(['a3'])
    })
  })
}
