/** Contract of task groups: fair turns, and the order within a group (D119, G30). */
import { describe, expect, it } from '@jest/globals'
import {
  DAY,
  HOSTILE,
  MINUTE,
  SECOND,
  TYPE,
  VISIBILITY,
  ask,
  dead,
  ids,
  leasesOf,
  nack,
  pending,
  registration,
  reserve,
  sole,
  submit,
  task,
} from './fixture.ts'
import type { Create } from './fixture.ts'
import { one, inGroup, put, leased, countsOf, dueOf, rowsOf, turns, groupFixtures } from './group-fixture.ts'
import type { Lease, NewTask, Tier } from '../../../src/storage/index.ts'

export function tasksGroups(name: string, create: Create): void {
  const fixtureOf = groupFixtures(create)

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

    it('that may start no further task are held back by a pause as well', async () => {
      const { backend, clock } = await fixtureOf(one)
      await put(backend, 'a1', 'a2')
      expect(await leased(backend, 1)).toEqual(['a1'])
      const untilMs = clock.wallMs() + MINUTE
      await backend.tasks.pause(TYPE, { actor: 'ada', note: null, untilMs })
      expect(await dueOf(backend)).toBe(untilMs)
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
}
