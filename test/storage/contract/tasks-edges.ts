/** Contract of tasks at the edges of their bounds: what a mutant of a script showed to be untested. */
import { describe, expect, it } from '@jest/globals'
import {
  DAY,
  HOUR,
  SECOND,
  TYPE,
  VISIBILITY,
  ids,
  inFlight,
  killed,
  nack,
  pending,
  reserve,
  submit,
  task,
  storeFixtures,
} from './fixture.ts'
import type { Create } from './fixture.ts'

export function tasksEdges(name: string, create: Create): void {
  describe(`${name} backend: tasks at their bounds`, () => {
    const open = storeFixtures(create)

    it('are no longer scheduled once their retry was promoted, and unknown after their ack (G3)', async () => {
      const { backend, clock } = await open()
      await nack(backend, await inFlight(backend, 'a', 'b'), { retryInMs: SECOND })
      clock.advance(SECOND)
      expect(await backend.tasks.sweep(TYPE, 0, 500)).toMatchObject({ promoted: 2, more: false })
      expect(await backend.tasks.locate(TYPE, ['a', 'b'])).toEqual(['pending', 'pending'])
      const leases = await reserve(backend)
      expect(await backend.tasks.locate(TYPE, ['a', 'b'])).toEqual(['in_flight', 'in_flight'])
      await backend.tasks.ack(TYPE, leases)
      expect(await backend.tasks.locate(TYPE, ['a', 'b'])).toEqual([null, null])
    })

    it('are no longer scheduled once their retry was leased (G3)', async () => {
      const { backend, clock } = await open()
      await nack(backend, await inFlight(backend, 'a'), { retryInMs: SECOND })
      clock.advance(SECOND)
      await backend.tasks.ack(TYPE, await reserve(backend))
      expect(await backend.tasks.locate(TYPE, ['a'])).toEqual([null])
    })

    it.each([0, 1, 2] as const)(
      'of tier %d observe a key without a ttl, and a ttl without a key (G7)',
      async (tier) => {
        const { backend, clock } = await open()
        await submit(backend, task('a', { tier, key: 'k' }), task('b', { tier, ttlMs: SECOND }))
        expect(await backend.tasks.submit(TYPE, DAY, [task('c', { tier, key: 'k' })])).toEqual([
          { kind: 'duplicate', duplicateOf: 'a' },
        ])
        clock.advance(SECOND)
        expect(ids(await reserve(backend))).toEqual(['a'])
        expect(await backend.tasks.locate(TYPE, ['b', 'c'])).toEqual([null, null])
      },
    )

    it('leave nothing behind for the next sweep when as many as its limit are due', async () => {
      const { backend, clock } = await open()
      await submit(backend, task('k', { key: 'one' }), task('l', { key: 'two' }))
      await backend.tasks.ack(TYPE, await reserve(backend))
      await nack(backend, await inFlight(backend, 'a', 'b'), { retryInMs: DAY - VISIBILITY })
      clock.advance(DAY - VISIBILITY)
      await submit(backend, 'c', 'd')
      expect(ids(await reserve(backend, 2))).toEqual(['c', 'd'])
      clock.advance(VISIBILITY)
      expect(await backend.tasks.sweep(TYPE, 0, 2)).toMatchObject({ requeued: 2, dead: 0, more: false })
      expect(await backend.tasks.submit(TYPE, HOUR, [task('m', { key: 'one' })])).toEqual([{ kind: 'queued' }])
    })

    it('do not count towards the limit of a submit once they were removed from the dead letters (D50)', async () => {
      const { backend } = await open()
      await killed(backend, 'a', 'b')
      expect(await backend.tasks.applyToDead(TYPE, 'remove', ['a'])).toEqual(['removed'])
      expect(await backend.tasks.submit(TYPE, DAY, [task('c'), task('d')], 2)).toEqual([
        { kind: 'queued' },
        { kind: 'queue_full' },
      ])
      expect(await backend.tasks.clearDead(TYPE)).toBe(1)
    })

    it('return in the order of their leases, also where a limit parts those of one deadline', async () => {
      const { backend, clock } = await open()
      expect(ids(await inFlight(backend, 'c', 'a', 'd', 'b'))).toEqual(['c', 'a', 'd', 'b'])
      clock.advance(VISIBILITY)
      expect(await backend.tasks.sweep(TYPE, 0, 2)).toMatchObject({ requeued: 2, more: true })
      expect(await pending(backend)).toEqual(['c', 'a'])
      expect(await backend.tasks.sweep(TYPE, 0, 2)).toMatchObject({ requeued: 2, more: false })
      expect(await pending(backend)).toEqual(['d', 'b', 'c', 'a'])
    })

    it('are listed up to a number of them, also where that is the last one of a tier', async () => {
      const { backend } = await open()
      await submit(backend, task('a', { tier: 0 }), task('b', { tier: 0 }), 'c', 'd')
      for (const [n, expected] of [
        [1, ['a']],
        [2, ['a', 'b']],
        [3, ['a', 'b', 'c']],
      ] as const)
        expect(ids((await backend.tasks.queue(TYPE, n)).items)).toEqual(expected)
    })

    it('promote as many retries as the limit of a sweep, and report more that are due at the same moment', async () => {
      const { backend, clock } = await open()
      await nack(backend, await inFlight(backend, 'a', 'b', 'c'), { retryInMs: SECOND })
      clock.advance(SECOND)
      expect(await backend.tasks.sweep(TYPE, 0, 2)).toMatchObject({ promoted: 2, more: true })
      expect(await pending(backend)).toEqual(['a', 'b'])
      expect(await backend.tasks.sweep(TYPE, 0, 1)).toMatchObject({ promoted: 1, more: false })
      expect(await pending(backend)).toEqual(['a', 'b', 'c'])
    })
  })
}
