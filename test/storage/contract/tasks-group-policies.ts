/** Contract of group policies: how they begin, change and end, and how grouped types are read (D119). */
import { describe, expect, it } from '@jest/globals'
import { DAY, SECOND, TYPE, ids, pending, reopen, reserve, submit } from './fixture.ts'
import type { Create } from './fixture.ts'
import {
  UNBOUNDED,
  one,
  rateOf,
  inGroup,
  put,
  setPolicy,
  leased,
  countsOf,
  rowsOf,
  groupFixtures,
} from './group-fixture.ts'
import type { GroupPolicy, Lease } from '../../../src/storage/index.ts'

export function tasksGroupPolicies(name: string, create: Create): void {
  const fixtureOf = groupFixtures(create)

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

    it('count the groups that are ready, wait for their rate, and have leases', async () => {
      const { backend, clock } = await fixtureOf({ maxInFlight: 2, rate: { intervalMs: 10_000, burst: 2 } })
      await put(backend, 'a1', 'a2', 'a3', 'b1', 'b2', 'b3', 'c1', '-1')
      expect((await countsOf(backend)).groups).toEqual({ ready: 4, waiting: 0, inFlight: 0 })
      const [none, ...leases] = await reserve(backend, 5)
      expect([none, ...leases].map((lease) => lease?.id)).toEqual(['-1', 'a1', 'b1', 'c1', 'a2'])
      expect((await countsOf(backend)).groups).toEqual({ ready: 1, waiting: 0, inFlight: 4 })
      expect(await leased(backend)).toEqual(['b2'])
      expect((await countsOf(backend)).groups).toEqual({ ready: 0, waiting: 0, inFlight: 4 })
      await backend.tasks.ack(TYPE, leases)
      await leased(backend) // A store may find only in a reserve that a rate does not permit a start.
      expect((await countsOf(backend)).groups).toEqual({ ready: 0, waiting: 2, inFlight: 2 })
      clock.advance(10_000)
      expect((await countsOf(backend)).groups).toEqual({ ready: 2, waiting: 0, inFlight: 2 })
      expect((await leased(backend)).toSorted()).toEqual(['a3', 'b3'])
      expect((await countsOf(backend)).groups).toEqual({ ready: 0, waiting: 0, inFlight: 3 })
      await setPolicy(backend, null)
      expect(await countsOf(backend)).not.toHaveProperty('groups')
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
