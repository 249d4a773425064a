/** Contract of task groups: fair turns, bounds of leases and of starts per group (D119, G30). */
import { describe, expect, it } from '@jest/globals'
import { DAY, HOSTILE, MINUTE, SECOND, TYPE, VISIBILITY } from './fixture.ts'
import { ask, dead, ids, leasesOf, nack, pending, registration, reopen, reserve, sole } from './fixture.ts'
import { storeFixtures, submit, task } from './fixture.ts'
import type { Create, StoreFixture } from './fixture.ts'
import type { Backend, Counts, GroupPolicy, GroupRow, Lease, NewTask, Tier } from '../../../src/storage/index.ts'

const UNBOUNDED: GroupPolicy = { maxInFlight: null, rate: null }
const one: GroupPolicy = { maxInFlight: 1, rate: null }
const rateOf = (intervalMs: number, burst: number): GroupPolicy => ({ maxInFlight: null, rate: { intervalMs, burst } })

/** A task whose group is the first letter of its id; that of `-1` is `null`. */
const inGroup = (id: string, more: Partial<NewTask> = {}): NewTask => {
  const letter = id.charAt(0)
  return task(id, { ownId: true, ...(letter !== '-' && { group: letter }), ...more })
}
const put = (backend: Backend, ...names: readonly string[]): Promise<void> =>
  submit(backend, ...names.map((id) => inGroup(id)))
const setPolicy = (backend: Backend, policy: GroupPolicy | null): Promise<void> =>
  backend.tasks.setGroupPolicy(TYPE, policy)
const leased = async (backend: Backend, limit?: number): Promise<string[]> => ids(await reserve(backend, limit))
const countsOf = async (backend: Backend): Promise<Counts> => sole(await backend.tasks.counts([TYPE]))
const rowsOf = (backend: Backend, limit = 1_000): Promise<readonly GroupRow[]> => backend.tasks.groups(TYPE, limit)
const dueOf = async (backend: Backend, limit = 1): Promise<number | null> =>
  (await ask(backend, [{ worker: 'w1', limit, defaultMaxAttempts: 3 }])).nextDueAtMs

/** Reserves and acks one task at a time. */
async function turns(backend: Backend, count: number): Promise<string[]> {
  const seen: string[] = []
  for (let i = 0; i < count; i += 1) {
    const leases = await reserve(backend, 1)
    seen.push(...ids(leases))
    if (leases.length > 0) await backend.tasks.ack(TYPE, leases)
  }
  return seen
}

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

export function tasksGroups(name: string, create: Create): void {
  const openStore = storeFixtures(create)
  const fixtureOf = async (policy: GroupPolicy | null = UNBOUNDED): Promise<StoreFixture> => {
    const fixture = await openStore()
    if (policy !== null) await setPolicy(fixture.backend, policy)
    return fixture
  }

  describe(`${name}: turns of groups`, () => {
    it('lease one task of each group in turn, by name, those without a group first (G30)', async () => {
      const { backend } = await fixtureOf()
      await put(backend, 'b1', 'b2', 'b3', 'a1', 'c1', 'c2', '-1', '-2', 'a2')
      expect(await leased(backend)).toEqual(['-1', 'a1', 'b1', 'c1', '-2', 'a2', 'b2', 'c2', 'b3'])
    })

    it('serve one task behind a thousand of another group after one lease (G30)', async () => {
      const { backend } = await fixtureOf()
      for (const part of [0, 1]) await put(backend, ...Array.from({ length: 500 }, (_, i) => `a${part * 500 + i}`))
      expect(await leased(backend, 3)).toEqual(['a0', 'a1', 'a2'])
      await put(backend, 'b')
      expect(await leased(backend, 3)).toEqual(['a3', 'b', 'a4'])
      expect(await leased(backend, 2)).toEqual(['a5', 'a6'])
    })

    it('let a group that joins later wait for those that wait already', async () => {
      const { backend } = await fixtureOf()
      await put(backend, 'c1', 'c2', 'b1', 'b2')
      expect(await leased(backend, 1)).toEqual(['b1'])
      await put(backend, 'a1', 'a2')
      expect(await leased(backend)).toEqual(['c1', 'a1', 'b2', 'c2', 'a2'])
    })

    it('do not starve a group behind one that is ready again after each ack (G30)', async () => {
      const { backend } = await fixtureOf(one)
      await put(backend, 'a1', 'a2', 'a3', 'b1', 'b2', 'b3')
      expect(await turns(backend, 6)).toEqual(['a1', 'b1', 'a2', 'b2', 'a3', 'b3'])
    })

    it('do not starve a group behind one that gets its tasks one at a time (G30)', async () => {
      const { backend } = await fixtureOf()
      await put(backend, 'b1', 'b2', 'b3')
      const seen: string[] = []
      for (const id of ['a1', 'a2', 'a3', 'a4']) {
        await put(backend, id)
        seen.push(...(await turns(backend, 1)))
      }
      expect(seen.filter((id) => id.startsWith('b')).length).toBeGreaterThanOrEqual(2)
    })

    it('go on from call to call, and through the requests of one call', async () => {
      const { backend } = await fixtureOf()
      await put(backend, 'a1', 'a2', 'a3', 'b1', 'b2', 'b3', 'c1')
      expect(await leased(backend, 2)).toEqual(['a1', 'b1'])
      await backend.workers.register([registration('w2', 'm1/0'), registration('w3', 'm1/0')])
      await backend.workers.drain([{ type: TYPE, id: 'w3' }])
      const { results } = await ask(backend, [
        { worker: 'w1', limit: 2, defaultMaxAttempts: 3 },
        { worker: 'w3', limit: 2, defaultMaxAttempts: 3 },
        { worker: 'w2', limit: 500, defaultMaxAttempts: 3 },
      ])
      expect(results.map((each) => (each.kind === 'refused' ? each.reason : ids(each.leases)))).toEqual([
        ['c1', 'a2'],
        'draining',
        ['b2', 'a3', 'b3'],
      ])
    })

    it('apply tiers only within a group', async () => {
      const { backend } = await fixtureOf()
      const tiers: readonly Tier[] = [2, 1, 0]
      await submit(backend, ...tiers.map((tier) => inGroup(`a${tier}`, { tier })))
      await submit(backend, inGroup('b-low', { tier: 2 }), inGroup('b-low-2', { tier: 2 }))
      expect(await leased(backend)).toEqual(['a0', 'b-low', 'a1', 'b-low-2', 'a2'])
    })

    it('put released tasks and those of lost leases to the front of their group', async () => {
      const { backend, clock } = await fixtureOf()
      await put(backend, 'a1', 'a2', 'a3', 'b1', 'b2', 'b3')
      const leases = await reserve(backend, 4) // a1 b1 a2 b2
      await backend.tasks.release(TYPE, leases.slice(0, 3))
      expect(await leased(backend)).toEqual(['a1', 'b1', 'a2', 'b3', 'a3'])
      clock.advance(VISIBILITY)
      expect(await backend.tasks.sweep(TYPE, 0, 500)).toMatchObject({ requeued: 6 })
      const again = await leased(backend)
      expect(again.filter((id) => id.startsWith('b'))[0]).toBe('b2')
      expect(
        again
          .slice(0, 2)
          .map((id) => id.charAt(0))
          .toSorted(),
      ).toEqual(['a', 'b'])
    })

    it('put retries and replayed tasks to the back of their tier in their group', async () => {
      const { backend, clock } = await fixtureOf()
      await put(backend, 'a1', 'a2', 'a3', 'b1')
      const [first, , second] = await reserve(backend, 3) // a1 b1 a2
      await nack(backend, [first as Lease], { retryInMs: SECOND })
      await nack(backend, [second as Lease], { permanent: true })
      await put(backend, 'a4')
      await submit(backend, inGroup('a5', { tier: 2 }))
      clock.advance(SECOND)
      expect(await backend.tasks.sweep(TYPE, 0, 500)).toMatchObject({ promoted: 1 })
      expect(await dead(backend)).toEqual(['a2'])
      expect(await backend.tasks.replay(TYPE, 1)).toBe(1)
      expect(await leased(backend)).toEqual(['a3', 'a4', 'a1', 'a2', 'a5'])
    })

    it('include delayed tasks when they are due', async () => {
      const { backend, clock } = await fixtureOf()
      const notBeforeMs = clock.wallMs() + MINUTE
      await submit(backend, inGroup('b0', { notBeforeMs }), inGroup('a1'), inGroup('a2'), inGroup('a3'))
      expect(await leased(backend, 1)).toEqual(['a1'])
      expect(await rowsOf(backend)).toEqual([{ group: 'a', pending: 2, inFlight: 1, nextStartAtMs: null }])
      clock.advance(MINUTE)
      expect(await leased(backend)).toEqual(['a2', 'b0', 'a3'])
    })

    it('drop expired tasks without a turn, and keep their outcomes', async () => {
      const { backend, clock } = await fixtureOf()
      const short = { ttlMs: SECOND, retainMs: MINUTE }
      await submit(backend, inGroup('a1', short), inGroup('a2', short), inGroup('b1', short), inGroup('a3'))
      await put(backend, 'c1', 'a4')
      clock.advance(SECOND)
      const answer = await ask(backend, [{ worker: 'w1', limit: 500, defaultMaxAttempts: 3 }])
      expect(answer).toMatchObject({ dropped: 3, nextDueAtMs: null })
      expect(ids(leasesOf(sole(answer.results)))).toEqual(['a3', 'c1', 'a4'])
      expect(await backend.tasks.describe(TYPE, ['a1', 'b1'])).toMatchObject([{ kind: 'expired' }, { kind: 'expired' }])
      expect(await countsOf(backend)).toMatchObject({ tiers: [0, 0, 0], inFlight: 3 })
    })

    it('skip cancelled tasks wherever they stand in their group', async () => {
      const { backend } = await fixtureOf()
      await put(backend, 'a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'c1')
      expect(await backend.tasks.cancel(TYPE, ['a1', 'a3', 'a5', 'b1'], 'admin')).toHaveLength(4)
      expect(await rowsOf(backend)).toEqual([
        { group: 'a', pending: 2, inFlight: 0, nextStartAtMs: null },
        { group: 'c', pending: 1, inFlight: 0, nextStartAtMs: null },
      ])
      await put(backend, 'b1')
      expect(await leased(backend)).toEqual(['a2', 'b1', 'c1', 'a4'])
    })

    it('serve many groups, most of them cancelled', async () => {
      const { backend } = await fixtureOf()
      await put(backend, '-1')
      expect(await leased(backend)).toEqual(['-1'])
      const names = Array.from({ length: 400 }, (_, i) => `${100 + i}`)
      await submit(backend, ...names.map((group) => task(`t${group}`, { ownId: true, group })))
      const kept = names.filter((_, i) => i % 7 === 0)
      const gone = names.filter((_, i) => i % 7 !== 0).map((group) => `t${group}`)
      await backend.tasks.cancel(TYPE, gone, 'admin')
      const [last = ''] = kept.splice(20, 1)
      await backend.tasks.cancel(TYPE, [`t${last}`], 'admin')
      expect(await leased(backend)).toEqual(kept.map((group) => `t${group}`))
      expect(await pending(backend)).toEqual([])
    })

    it('replace a pending task by one of another group', async () => {
      const { backend } = await fixtureOf()
      const unique = { key: 'k', until: 'started', onConflict: 'replace' } as const
      await submit(backend, inGroup('a1'), inGroup('a2', { unique }), inGroup('b1'))
      const results = await backend.tasks.submit(TYPE, DAY, [inGroup('b2', { unique }), inGroup('a3')])
      expect(results).toEqual([{ kind: 'queued', replaced: 'a2' }, { kind: 'queued' }])
      expect(await leased(backend)).toEqual(['a1', 'b1', 'a3', 'b2'])
    })

    it('end at the size of a call, and continue there', async () => {
      const { backend } = await fixtureOf()
      const large = (id: string): NewTask => {
        const plain = inGroup(id)
        return { ...plain, body: plain.body.replace('"of":', `"x":"${'x'.repeat(5 * 1_048_576)}","of":`) }
      }
      for (const id of ['a1', 'a2', 'b1', 'b2']) await submit(backend, large(id))
      await put(backend, 'c1', 'c2')
      const first = await leased(backend)
      expect(first.slice(0, 3)).toEqual(['a1', 'b1', 'c1'])
      expect(first.length).toBeLessThan(6)
      expect([...first, ...(await leased(backend)), ...(await leased(backend))]).toEqual([
        'a1',
        'b1',
        'c1',
        'a2',
        'b2',
        'c2',
      ])
    })

    it('stop while the queue is paused', async () => {
      const { backend, clock } = await fixtureOf()
      await put(backend, 'a1', 'b1')
      const untilMs = clock.wallMs() + MINUTE
      await backend.tasks.pause(TYPE, { actor: 'ada', note: null, untilMs })
      expect(await ask(backend, [{ worker: 'w1', limit: 5, defaultMaxAttempts: 3 }])).toMatchObject({
        results: [{ kind: 'leased', leases: [] }],
        nextDueAtMs: untilMs,
      })
      await put(backend, 'c1')
      clock.advance(MINUTE)
      expect(await leased(backend)).toEqual(['a1', 'b1', 'c1'])
    })

    it('are named by any text', async () => {
      const { backend } = await fixtureOf()
      const groups = [...HOSTILE, 'x'.repeat(256), `\\"'\n\u0001`]
      await submit(backend, ...groups.map((group, i) => task(`t${i}`, { ownId: true, group, retainMs: MINUTE })))
      await submit(backend, ...groups.map((group, i) => task(`u${i}`, { ownId: true, group, tier: 0 })))
      await submit(backend, task('none', { ownId: true }))
      const order = [...groups.keys()].toSorted((a, b) => ((groups[a] ?? '') < (groups[b] ?? '') ? -1 : 1))
      const leases = await reserve(backend)
      expect(ids(leases)).toEqual(['none', ...order.map((i) => `u${i}`), ...order.map((i) => `t${i}`)])
      const inFlight = [null, ...order.map((i) => groups[i])]
      expect((await rowsOf(backend)).map(({ group }) => group)).toEqual(inFlight)
      expect(await backend.tasks.ack(TYPE, leases)).toEqual(leases.map(() => 'ok'))
      expect(await rowsOf(backend)).toEqual([])
    })
  })

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

  describe(`${name}: group policies`, () => {
    it('leave a type without one in plain order', async () => {
      const { backend } = await fixtureOf(null)
      await put(backend, 'b1', 'b2', 'a1', '-1')
      expect(await rowsOf(backend)).toEqual([])
      expect(await leased(backend)).toEqual(['b1', 'b2', 'a1', '-1'])
    })

    it('take in tasks that are pending, delayed or in flight already', async () => {
      const { backend, clock } = await fixtureOf(null)
      await put(backend, 'a1', 'a2', 'a3', '-1', 'b1', '-2')
      await submit(backend, inGroup('-3', { notBeforeMs: clock.wallMs() + SECOND }))
      const leases = await reserve(backend, 1)
      await setPolicy(backend, one)
      expect(await rowsOf(backend)).toEqual([
        { group: null, pending: 2, inFlight: 0, nextStartAtMs: null },
        { group: 'a', pending: 2, inFlight: 1, nextStartAtMs: null },
        { group: 'b', pending: 1, inFlight: 0, nextStartAtMs: null },
      ])
      const next = await reserve(backend)
      expect(ids(next)).toEqual(['-1', 'b1'])
      await backend.tasks.ack(TYPE, leases)
      expect(await leased(backend)).toEqual(['a2'])
      await backend.tasks.ack(TYPE, next)
      clock.advance(SECOND)
      expect(await leased(backend)).toEqual(['-2'])
      expect(await pending(backend)).toEqual(['a3', '-3'])
    })

    it('end, which brings the plain order back', async () => {
      const { backend } = await fixtureOf(one)
      await put(backend, 'b1', 'b2', 'a1', 'b3', '-1')
      const leases = await reserve(backend)
      expect(ids(leases)).toEqual(['-1', 'a1', 'b1'])
      await backend.tasks.release(TYPE, [leases[2] as Lease])
      await setPolicy(backend, null)
      expect(await rowsOf(backend)).toEqual([])
      await put(backend, 'a0', 'c1')
      expect(await leased(backend, 3)).toEqual(['b1', 'b2', 'b3'])
      await setPolicy(backend, UNBOUNDED)
      await put(backend, 'a5')
      expect(await leased(backend)).toEqual(['a0', 'c1', 'a5'])
    })

    it('change while tasks wait', async () => {
      const { backend, clock } = await fixtureOf(one)
      await put(backend, 'a1', 'a2', 'a3', 'a4', 'a5')
      const leases = [...(await reserve(backend))]
      await setPolicy(backend, { maxInFlight: 3, rate: null })
      leases.push(...(await reserve(backend)))
      expect(ids(leases)).toEqual(['a1', 'a2', 'a3'])
      await setPolicy(backend, { maxInFlight: 2, rate: null })
      await backend.tasks.ack(TYPE, leases.slice(0, 1))
      expect(await leased(backend)).toEqual([])
      await backend.tasks.ack(TYPE, leases.slice(1, 2))
      expect(await leased(backend)).toEqual(['a4'])
      await setPolicy(backend, rateOf(SECOND, 1))
      expect(await leased(backend)).toEqual(['a5'])
      await put(backend, 'a6')
      expect(await leased(backend)).toEqual([])
      await setPolicy(backend, rateOf(10, 1))
      clock.advance(999)
      expect(await leased(backend)).toEqual([])
      clock.advance(1)
      expect(await leased(backend)).toEqual(['a6'])
    })

    it('may be set again, or for a type that has no tasks', async () => {
      const { backend } = await fixtureOf()
      await backend.tasks.setGroupPolicy('never used', one)
      await backend.tasks.setGroupPolicy('unknown', null)
      expect(await backend.tasks.groups('never used', 10)).toEqual([])
      await put(backend, 'a1', 'a2', 'b1', 'b2')
      expect(await leased(backend, 1)).toEqual(['a1'])
      await setPolicy(backend, UNBOUNDED)
      expect(await leased(backend)).toEqual(['b1', 'a2', 'b2'])
    })

    it('count the leases of a durable store after a restart', async () => {
      const { backend } = await fixtureOf(one)
      if (!backend.capabilities.durable) return
      await put(backend, 'a1', 'a2', 'b1', '-1', '-2')
      const [none, lease] = await reserve(backend, 2)
      expect([none?.id, lease?.id]).toEqual(['-1', 'a1'])
      await reopen(backend)
      await setPolicy(backend, one)
      expect(await leased(backend)).toEqual(['b1'])
      expect(await backend.tasks.ack(TYPE, [lease as Lease])).toEqual(['ok'])
      expect(await leased(backend)).toEqual(['a2'])
      expect(await rowsOf(backend)).toEqual([
        { group: null, pending: 1, inFlight: 1, nextStartAtMs: null },
        { group: 'a', pending: 0, inFlight: 1, nextStartAtMs: null },
        { group: 'b', pending: 0, inFlight: 1, nextStartAtMs: null },
      ])
    })

    it.each<readonly [string, unknown]>([
      ['maxInFlight', { maxInFlight: 0, rate: null }],
      ['maxInFlight', { maxInFlight: 1.5, rate: null }],
      ['burst', { maxInFlight: null, rate: { intervalMs: 1, burst: 0 } }],
      ['intervalMs', { maxInFlight: null, rate: { intervalMs: 0, burst: 1 } }],
      ['intervalMs', { maxInFlight: null, rate: { intervalMs: Number.NaN, burst: 1 } }],
      ['intervalMs', { maxInFlight: null, rate: { intervalMs: DAY + 1, burst: 1 } }],
    ])('are rejected with a wrong %s: %j', async (what, policy) => {
      const { backend } = await fixtureOf(null)
      const call = async (): Promise<void> => setPolicy(backend, policy as GroupPolicy)
      await expect(call()).rejects.toThrow(what)
    })
  })

  describe(`${name}: reads of grouped types`, () => {
    it('show the plain order: tier, then first in, first out', async () => {
      const { backend } = await fixtureOf(one)
      await submit(backend, inGroup('b1', { tier: 2 }), inGroup('b2'), inGroup('a1'), inGroup('a2', { tier: 0 }))
      await put(backend, 'a3', 'b3', '-1')
      const leases = await reserve(backend)
      expect(ids(leases)).toEqual(['-1', 'a2', 'b2'])
      expect(await pending(backend)).toEqual(['a1', 'a3', 'b3', 'b1'])
      const listed: string[] = []
      for (let after: string | null = null; ;) {
        const { rows, next } = await backend.tasks.list(TYPE, 'pending', after, 2)
        listed.push(...ids(rows))
        if (next === null) break
        after = next
      }
      expect(listed).toEqual(['a1', 'a3', 'b3', 'b1'])
      expect(await countsOf(backend)).toMatchObject({ tiers: [0, 3, 1], inFlight: 3, scheduled: 0, dead: 0 })
      expect(await backend.tasks.locate(TYPE, ['a1', 'a2', 'b1'])).toEqual(['pending', 'in_flight', 'pending'])
      expect(await backend.tasks.describe(TYPE, ['a1', 'b2'])).toMatchObject([
        { kind: 'stored', place: 'pending' },
        { kind: 'stored', place: 'in_flight' },
      ])
      await backend.tasks.release(TYPE, leases)
      expect(await pending(backend)).toEqual(['a2', '-1', 'b2', 'a1', 'a3', 'b3', 'b1'])
      expect(await countsOf(backend)).toMatchObject({ tiers: [1, 5, 1], inFlight: 0 })
    })

    it('keep pages apart while most of a queue is leased from its middle', async () => {
      const { backend } = await fixtureOf({ maxInFlight: 100, rate: null })
      await put(backend, ...Array.from({ length: 300 }, (_, i) => `${i === 0 ? 'a' : 'b'}${i}`))
      await put(backend, ...Array.from({ length: 300 }, (_, i) => `c${i}`))
      expect(await leased(backend)).toHaveLength(201)
      const rest = [
        ...Array.from({ length: 199 }, (_, i) => `b${i + 101}`),
        ...Array.from({ length: 200 }, (_, i) => `c${i + 100}`),
      ]
      expect(await pending(backend)).toEqual(rest)
      await put(backend, 'a1')
      await backend.tasks.cancel(TYPE, ['b150', 'c299'], 'admin')
      expect(await pending(backend)).toEqual([...rest.filter((id) => id !== 'b150' && id !== 'c299'), 'a1'])
      expect(await countsOf(backend)).toMatchObject({ tiers: [0, 398, 0], inFlight: 201 })
    })

    it('list groups with tasks, those with the most pending ones first', async () => {
      const { backend } = await fixtureOf({ maxInFlight: 1, rate: null })
      await put(backend, 'a1', 'b1', 'b2', 'b3', 'c1', 'c2', '-1', 'd1', 'd2')
      const leases = await reserve(backend, 2)
      expect(ids(leases)).toEqual(['-1', 'a1'])
      const rows = [
        { group: 'b', pending: 3, inFlight: 0, nextStartAtMs: null },
        { group: 'c', pending: 2, inFlight: 0, nextStartAtMs: null },
        { group: 'd', pending: 2, inFlight: 0, nextStartAtMs: null },
        { group: null, pending: 0, inFlight: 1, nextStartAtMs: null },
        { group: 'a', pending: 0, inFlight: 1, nextStartAtMs: null },
      ]
      expect(await rowsOf(backend)).toEqual(rows)
      expect(await rowsOf(backend, 2)).toEqual(rows.slice(0, 2))
      await backend.tasks.ack(TYPE, leases)
      expect(await rowsOf(backend)).toEqual(rows.slice(0, 3))
      expect(await backend.tasks.groups('unknown', 10)).toEqual([])
    })
  })
}
