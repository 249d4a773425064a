/** Contract of unique keys: at most one task with a key waits, judged in the step that submits another one (D118). */
import { describe, expect, it } from '@jest/globals'
import { DAY, HOSTILE, MINUTE, SECOND, TYPE, ids, killed, nack, pending, reopen, reserve, sole } from './fixture.ts'
import { storeFixtures, submit, task } from './fixture.ts'
import type { Create, StoreFixture } from './fixture.ts'
import type { Backend, Counts, NewTask, SubmitItemResult, UniqueKey } from '../../../src/storage/index.ts'

const QUEUED = { kind: 'queued' }
const replaced = (id: string): object => ({ kind: 'queued', replaced: id })
const duplicate = (id: string): object => ({ kind: 'duplicate', duplicateOf: id })
const keyed = (id: string, more: Partial<NewTask> = {}, unique: Partial<UniqueKey> = {}): NewTask =>
  task(id, { ownId: true, unique: { key: 'k', until: 'started', onConflict: 'keep', ...unique }, ...more })
const replacing = (id: string, more: Partial<NewTask> = {}, unique: Partial<UniqueKey> = {}): NewTask =>
  keyed(id, more, { onConflict: 'replace', ...unique })
const put = (backend: Backend, tasks: readonly NewTask[], bound?: number): Promise<readonly SubmitItemResult[]> =>
  backend.tasks.submit(TYPE, DAY, tasks, bound)
const countsOf = async (backend: Backend): Promise<Counts> => sole(await backend.tasks.counts([TYPE]))

/** Everything that becomes leasable within two minutes, in order. */
async function drained({ backend, clock }: StoreFixture): Promise<string[]> {
  const seen: string[] = []
  for (let i = 0; i < 5; i += 1) {
    await backend.tasks.sweep(TYPE, 0, 500)
    const leases = await reserve(backend)
    seen.push(...ids(leases))
    if (leases.length > 0) await backend.tasks.ack(TYPE, leases)
    clock.advance(30 * SECOND)
  }
  return seen
}

/** Puts the task `a` with the key into a place in which it waits. */
const WAITING: Readonly<Record<string, (fixture: StoreFixture, more: Partial<NewTask>) => Promise<void>>> = {
  pending: ({ backend }, more) => submit(backend, keyed('a', more)),
  delayed: ({ backend, clock }, more) => submit(backend, keyed('a', { notBeforeMs: clock.wallMs() + MINUTE, ...more })),
  'waiting for its retry': async ({ backend }, more) => {
    await submit(backend, keyed('a', more))
    await nack(backend, await reserve(backend), { retryInMs: 20 * SECOND })
  },
  released: async ({ backend }, more) => {
    await submit(backend, keyed('a', more))
    await backend.tasks.release(TYPE, await reserve(backend))
  },
  replayed: async ({ backend }, more) => {
    await killed(backend, keyed('a', { tier: 2, ...more }))
    await backend.tasks.replay(TYPE, 1)
  },
}

export function tasksUnique(name: string, create: Create): void {
  const fixtureOf = storeFixtures(create)

  describe(`${name}: unique keys`, () => {
    it.each(Object.keys(WAITING))('keep or replace a task that is %s', async (place) => {
      for (const retainMs of [undefined, MINUTE]) {
        const fixture = await fixtureOf()
        const { backend } = fixture
        await WAITING[place]?.(fixture, { ...(retainMs !== undefined && { retainMs }) })
        expect(await put(backend, [keyed('b')])).toEqual([duplicate('a')])
        expect(await put(backend, [replacing('c')])).toEqual([replaced('a')])
        expect(await backend.tasks.locate(TYPE, ['a', 'b', 'c'])).toEqual([null, null, 'pending'])
        expect((await countsOf(backend)).totals).toMatchObject({ submitted: 2, cancelled: 1 })
        expect(await drained(fixture)).toEqual(['c'])
        expect(await countsOf(backend)).toMatchObject({ tiers: [0, 0, 0], scheduled: 0, inFlight: 0 })
      }
    })

    it('conflict with a task in flight only until it has finished, and never replace it', async () => {
      const { backend } = await fixtureOf()
      await submit(backend, keyed('a'), keyed('f', {}, { key: 'other', until: 'finished' }))
      const leases = await reserve(backend)
      const other = { key: 'other' }
      expect(await put(backend, [keyed('b'), replacing('g', {}, other), keyed('h', {}, other)])).toEqual([
        QUEUED,
        duplicate('f'),
        duplicate('f'),
      ])
      expect(await backend.tasks.ack(TYPE, leases)).toEqual(['ok', 'ok'])
      expect(await put(backend, [keyed('i', {}, other)])).toEqual([QUEUED])
      expect(await pending(backend)).toEqual(['b', 'i'])
    })

    it('do not conflict with dead, removed, expired, cancelled or finished tasks', async () => {
      const { backend, clock } = await fixtureOf()
      await killed(backend, keyed('dead'))
      expect(await put(backend, [keyed('b', { ttlMs: SECOND })])).toEqual([QUEUED])
      clock.advance(SECOND)
      expect(await reserve(backend)).toEqual([])
      expect(await put(backend, [keyed('c')])).toEqual([QUEUED])
      await backend.tasks.cancel(TYPE, ['c'], 'admin')
      expect(await put(backend, [keyed('d', { retainMs: MINUTE })])).toEqual([QUEUED])
      await backend.tasks.ack(TYPE, await reserve(backend))
      await killed(backend, keyed('e'))
      await backend.tasks.clearDead(TYPE)
      expect(await put(backend, [keyed('f')])).toEqual([QUEUED])
    })

    it('name the last task that was queued with them', async () => {
      const { backend, clock } = await fixtureOf()
      await submit(backend, keyed('a'))
      const leases = await reserve(backend)
      await submit(backend, keyed('b'))
      await backend.tasks.release(TYPE, leases)
      await backend.tasks.cancel(TYPE, ['b'], 'admin')
      expect(await put(backend, [keyed('c')])).toEqual([QUEUED]) // `a` is pending, but `b` was the last one.
      expect(await put(backend, [keyed('d')])).toEqual([duplicate('c')])
      clock.advance(MINUTE)
      await backend.tasks.sweep(TYPE, 0, 500)
      expect(await put(backend, [keyed('d')])).toEqual([duplicate('c')])
    })

    it('belong to a task, not to its id', async () => {
      const { backend } = await fixtureOf()
      await submit(backend, keyed('a'))
      await backend.tasks.ack(TYPE, await reserve(backend))
      await submit(backend, task('a', { ownId: true }))
      expect(await put(backend, [keyed('b')])).toEqual([QUEUED])
      await backend.tasks.cancel(TYPE, ['b', 'a'], 'admin')
      await submit(backend, keyed('b', {}, { key: 'k2' }))
      expect(await put(backend, [keyed('c'), keyed('d', {}, { key: 'k2' })])).toEqual([QUEUED, duplicate('b')])
    })

    it('apply within one call, where a later task sees an earlier one', async () => {
      const fixture = await fixtureOf()
      const { backend, clock } = fixture
      const later = { notBeforeMs: clock.wallMs() + MINUTE }
      const results = await put(backend, [
        keyed('a', { tier: 0, ttlMs: MINUTE }),
        keyed('b'),
        replacing('c', later),
        task('x'),
        replacing('d'),
        replacing('e', {}, { key: 'second' }),
        replacing('a'),
        task('d', { ownId: true }),
      ])
      expect(results).toEqual([
        QUEUED,
        duplicate('a'),
        replaced('a'),
        QUEUED,
        replaced('c'),
        QUEUED,
        replaced('d'),
        QUEUED,
      ])
      expect((await countsOf(backend)).totals).toMatchObject({ submitted: 7, cancelled: 3 })
      expect(await drained(fixture)).toEqual(['x', 'e', 'a', 'd'])
      expect(await put(backend, [keyed('y')])).toEqual([QUEUED])
    })

    it('let one call replace a task and submit its id again', async () => {
      for (const place of Object.keys(WAITING)) {
        const fixture = await fixtureOf()
        const { backend } = fixture
        await WAITING[place]?.(fixture, {})
        await submit(backend, 'last')
        const [again, once] = [task('a', { ownId: true }), replacing('c')]
        expect(await put(backend, [replacing('b'), again, once])).toEqual([replaced('a'), QUEUED, replaced('b')])
        expect(await put(backend, [replacing('a')])).toEqual([duplicate('a')])
        expect(await drained(fixture)).toEqual(['last', 'a', 'c'])
        expect(await countsOf(backend)).toMatchObject({ tiers: [0, 0, 0], scheduled: 0, inFlight: 0 })
      }
    })

    it('let one call submit the id of a replaced task again, which then waits at the back', async () => {
      const fixture = await fixtureOf()
      const { backend } = fixture
      await submit(backend, 'first', keyed('a'), 'last')
      const results = await put(backend, [replacing('b'), task('a', { ownId: true })])
      expect(results).toEqual([replaced('a'), QUEUED])
      expect(await pending(backend)).toEqual(['first', 'last', 'b', 'a'])
      expect(await drained(fixture)).toEqual(['first', 'last', 'b', 'a'])
    })

    it('judge the id first, and record the idempotency key of a duplicate', async () => {
      const { backend } = await fixtureOf()
      await submit(backend, keyed('a'))
      expect(await put(backend, [replacing('a')])).toEqual([duplicate('a')])
      expect(await put(backend, [keyed('b', { key: 'i' })])).toEqual([duplicate('a')])
      await backend.tasks.ack(TYPE, await reserve(backend))
      expect(await put(backend, [keyed('c', { key: 'i' }), keyed('d')])).toEqual([duplicate('a'), QUEUED])
      expect(await put(backend, [replacing('e', { key: 'j' }), replacing('f', { key: 'j' })])).toEqual([
        replaced('d'),
        duplicate('e'),
      ])
    })

    it('free the place of the replaced task in a full queue', async () => {
      const { backend } = await fixtureOf()
      const full = [keyed('a'), task('x')]
      expect(await put(backend, full, 2)).toEqual([QUEUED, QUEUED])
      const more = [keyed('b'), replacing('c'), task('y'), keyed('z', {}, { key: 'other' })]
      const refused = { kind: 'queue_full' }
      expect(await put(backend, more, 2)).toEqual([duplicate('a'), replaced('a'), refused, refused])
      expect(await pending(backend)).toEqual(['x', 'c'])
      expect(await put(backend, [replacing('d'), task('e'), task('f')], 3)).toEqual([replaced('c'), QUEUED, refused])
    })

    it('are any text', async () => {
      const { backend } = await fixtureOf()
      const tasks = HOSTILE.map((key, i) => keyed(`t${i}`, { retainMs: MINUTE }, { key }))
      expect(await put(backend, tasks)).toEqual(HOSTILE.map(() => QUEUED))
      const again = HOSTILE.map((key, i) => keyed(`u${i}`, {}, { key }))
      expect(await put(backend, again)).toEqual(HOSTILE.map((_, i) => duplicate(`t${i}`)))
    })

    it('outlive sweeps while their task is stored, and a restart if the store is durable', async () => {
      const { backend, clock } = await fixtureOf()
      const tasks = Array.from({ length: 250 }, (_, i) => keyed(`t${i}`, {}, { key: `k${i}` }))
      await submit(backend, ...tasks)
      const leases = await reserve(backend, 200)
      await backend.tasks.ack(TYPE, leases)
      for (let i = 0; i < 10; i += 1) {
        clock.advance(1)
        await backend.tasks.sweep(TYPE, 0, 500)
      }
      if (backend.capabilities.durable) await reopen(backend)
      const results = await put(
        backend,
        tasks.map((each) => ({ ...each, id: `n${each.id}` })),
      )
      expect(results.slice(0, 200)).toEqual(Array.from({ length: 200 }, () => QUEUED))
      expect(results.slice(200)).toEqual(Array.from({ length: 50 }, (_, i) => duplicate(`t${200 + i}`)))
    })
  })
}
