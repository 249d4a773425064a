/** Contract of cancels: a cancelled task is never leased again, its lease ends, and its id may be used again (D109). */
import { describe, expect, it } from '@jest/globals'
import {
  DAY,
  MINUTE,
  SECOND,
  TYPE,
  VISIBILITY,
  dead,
  ids,
  inFlight,
  killed,
  nack,
  pending,
  refOf,
  reopen,
  reserve,
  sole,
  storeFixtures,
  submit,
  task,
} from './fixture.ts'
import type { Create, StoreFixture } from './fixture.ts'
import type { Backend, CancelResult, Counts, Lease, NewTask, Tier } from '../../../src/storage/index.ts'

const PENDING = { kind: 'cancelled', was: 'pending' }
const endOf = ({ token }: Lease): CancelResult => ({ kind: 'cancelled', was: 'in_flight', worker: 'w1', token })
const SCHEDULED = { kind: 'cancelled', was: 'scheduled' }
const NOT_FOUND = { kind: 'not_found' }

const cancel = (backend: Backend, ...named: readonly string[]): Promise<readonly CancelResult[]> =>
  backend.tasks.cancel(TYPE, named, 'admin')
const countsOf = async (backend: Backend): Promise<Counts> => sole(await backend.tasks.counts([TYPE]))
const own = (id: string, more: Partial<NewTask> = {}): NewTask => task(id, { ownId: true, ...more })

/** Tries every settle of a lease that does not count any more. */
async function settles(backend: Backend, lease: Lease): Promise<unknown[]> {
  return [
    sole(await backend.tasks.extend(TYPE, [{ ...refOf(lease), visibilityMs: VISIBILITY }])).kind,
    sole(await nack(backend, [lease])),
    sole(await backend.tasks.release(TYPE, [lease])),
    sole(await backend.tasks.ack(TYPE, [lease])),
  ]
}
const LOST = ['lease_lost', 'lease_lost', 'lease_lost', 'lease_lost']

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

/** Puts the task into a place, and cancels it there. */
const PLACES: Readonly<
  Record<string, (fixture: StoreFixture, id: string, more?: Partial<NewTask>) => Promise<CancelResult>>
> = {
  'a pending task': async ({ backend }, id, more) => {
    await submit(backend, own(id, { tier: 0, ...more }))
    return sole(await cancel(backend, id))
  },
  'a leased task': async ({ backend }, id, more) => {
    await inFlight(backend, own(id, more))
    return sole(await cancel(backend, id))
  },
  'a delayed task': async ({ backend, clock }, id, more) => {
    await submit(backend, own(id, { notBeforeMs: clock.wallMs() + MINUTE, ...more }))
    return sole(await cancel(backend, id))
  },
  'a task that waits for its retry': async ({ backend }, id, more) => {
    await nack(backend, await inFlight(backend, own(id, more)), { retryInMs: 20 * SECOND })
    return sole(await cancel(backend, id))
  },
  'a replayed task of another tier': async ({ backend }, id, more) => {
    await killed(backend, own(id, { tier: 2, ...more }))
    await backend.tasks.replay(TYPE, 1)
    return sole(await cancel(backend, id))
  },
  'a released task': async ({ backend }, id, more) => {
    await backend.tasks.release(TYPE, await inFlight(backend, own(id, { tier: 0, ...more })))
    return sole(await cancel(backend, id))
  },
}
const AGAIN: Readonly<Record<string, (now: number) => Partial<NewTask>>> = {
  'in the same tier': () => ({ tier: 0 }),
  'in the normal tier': () => ({ tier: 1 }),
  'in the low tier': () => ({ tier: 2 }),
  delayed: (now) => ({ tier: 0, notBeforeMs: now + 25 * SECOND }),
  'with a ttl': () => ({ ttlMs: MINUTE }),
}

export function tasksCancel(name: string, create: Create): void {
  const open: () => Promise<StoreFixture> = storeFixtures(create)

  describe(`${name} backend: cancels`, () => {
    it('remove tasks from the place where they are, and not from the dead letters (G28)', async () => {
      const fixture = await open()
      const { backend, clock } = fixture
      await killed(backend, own('dead'))
      const held = sole(await inFlight(backend, own('held')))
      const failed = await inFlight(backend, own('failed'))
      await nack(backend, failed, { retryInMs: MINUTE })
      await submit(backend, own('later', { notBeforeMs: clock.wallMs() + MINUTE }), own('next'), own('kept'))
      const results = await cancel(backend, 'dead', 'held', 'failed', 'later', 'next', 'none', 'next')
      expect(results).toEqual([{ kind: 'dead' }, endOf(held), SCHEDULED, SCHEDULED, PENDING, NOT_FOUND, NOT_FOUND])
      expect(await backend.tasks.locate(TYPE, ['dead', 'held', 'failed', 'later', 'next'])).toEqual([
        'dead',
        null,
        null,
        null,
        null,
      ])
      expect(await settles(backend, held)).toEqual(LOST)
      expect(await countsOf(backend)).toMatchObject({ tiers: [0, 1, 0], scheduled: 0, inFlight: 0, dead: 1 })
      expect((await countsOf(backend)).totals).toMatchObject({ cancelled: 4 })
      expect(await pending(backend)).toEqual(['kept'])
      expect(await dead(backend)).toEqual(['dead'])
      expect(await drained(fixture)).toEqual(['kept'])
    })

    it('of a retry that is not the next one count and lease the others alone (G28)', async () => {
      const fixture = await open()
      const { backend, clock } = fixture
      for (const [id, seconds] of [
        ['first', 10],
        ['second', 20],
        ['third', 30],
      ] as const)
        await nack(backend, await inFlight(backend, own(id)), { retryInMs: seconds * SECOND })
      expect(await cancel(backend, 'second')).toEqual([SCHEDULED])
      expect(await countsOf(backend)).toMatchObject({ tiers: [0, 0, 0], scheduled: 2, inFlight: 0 })
      clock.advance(30 * SECOND)
      expect(ids(await reserve(backend))).toEqual(['first', 'third'])
    })

    it.each(Object.entries(PLACES))(
      'of %s leave an outcome if it is retained, and a repeat changes nothing',
      async (_, put) => {
        const fixture = await open()
        const { backend, clock } = fixture
        expect(await put(fixture, 'a', { retainMs: MINUTE })).toMatchObject({ kind: 'cancelled' })
        const finishedAtMs = clock.wallMs()
        const outcome = {
          kind: 'cancelled',
          finishedAtMs,
          retainedUntilMs: finishedAtMs + MINUTE,
          attempt: 0,
          worker: null,
          actor: 'admin',
          result: null,
        }
        expect(await backend.tasks.describe(TYPE, ['a'])).toMatchObject([outcome])
        expect(await cancel(backend, 'a', 'a')).toEqual([{ kind: 'finished', as: 'cancelled' }, NOT_FOUND])
        expect(await backend.tasks.describe(TYPE, ['a'])).toMatchObject([outcome])
        expect((await countsOf(backend)).totals).toMatchObject({ cancelled: 1 })
        expect(await backend.tasks.submit(TYPE, DAY, [own('a')])).toEqual([{ kind: 'duplicate', duplicateOf: 'a' }])
        clock.advance(MINUTE)
        expect([await backend.tasks.describe(TYPE, ['a']), await cancel(backend, 'a')]).toEqual([[null], [NOT_FOUND]])
        expect(await drained(fixture)).toEqual([])
      },
    )

    it('of finished tasks change nothing and name how they ended', async () => {
      const { backend, clock } = await open()
      await backend.tasks.ack(TYPE, await inFlight(backend, own('done', { retainMs: MINUTE })))
      await submit(backend, own('late', { retainMs: MINUTE, ttlMs: SECOND }))
      clock.advance(SECOND)
      expect(await reserve(backend)).toEqual([])
      expect(await cancel(backend, 'done', 'late')).toEqual([
        { kind: 'finished', as: 'done' },
        { kind: 'finished', as: 'expired' },
      ])
      expect((await countsOf(backend)).totals['cancelled']).toBeUndefined()
    })

    it('return not_found when they are repeated, for a task that was acked, and for a type never used', async () => {
      const { backend } = await open()
      expect(await backend.tasks.cancel('other', ['a', 'b'], 'admin')).toEqual([NOT_FOUND, NOT_FOUND])
      await backend.tasks.ack(TYPE, await inFlight(backend, own('a')))
      await submit(backend, own('b'))
      expect(await cancel(backend, 'a', 'b')).toEqual([NOT_FOUND, PENDING])
      expect(await cancel(backend, 'a', 'b')).toEqual([NOT_FOUND, NOT_FOUND])
      expect((await countsOf(backend)).totals).toEqual({ submitted: 2, acked: 1, nacked: 0, died: 0, cancelled: 1 })
    })

    it('survive a restart of the store', async () => {
      const { backend } = await open()
      if (!backend.capabilities.durable) return
      const held = sole(await inFlight(backend, own('held')))
      await submit(backend, own('a', { tier: 0 }), own('b', { tier: 0 }))
      await cancel(backend, 'a', 'held')
      await reopen(backend)
      expect(await countsOf(backend)).toMatchObject({ tiers: [1, 0, 0], inFlight: 0, totals: { cancelled: 2 } })
      expect(ids(await reserve(backend))).toEqual(['b'])
      expect(await settles(backend, held)).toEqual(LOST)
    })

    for (const [what, cancelled] of Object.entries(PLACES))
      it(`of ${what} leave its id free: submitted again, it is one new task (G28)`, async () => {
        const fixture = await open()
        const { backend, clock } = fixture
        for (const [how, again] of Object.entries(AGAIN)) {
          expect(await cancelled(fixture, 'x')).toMatchObject({ kind: 'cancelled' })
          const more = again(clock.wallMs())
          const { tier = 1 } = more
          await submit(backend, own('before', { tier }), own('x', more), own('after', { tier }))
          const isDelayed = more.notBeforeMs !== undefined
          expect([how, await pending(backend)]).toEqual([
            how,
            isDelayed ? ['before', 'after'] : ['before', 'x', 'after'],
          ])
          const tiers = [0, 0, 0]
          tiers[tier] = isDelayed ? 2 : 3
          expect(await countsOf(backend)).toMatchObject({ tiers, scheduled: isDelayed ? 1 : 0, inFlight: 0, dead: 0 })
          expect(await drained(fixture)).toEqual(isDelayed ? ['before', 'after', 'x'] : ['before', 'x', 'after'])
          expect(await countsOf(backend)).toMatchObject({ tiers: [0, 0, 0], scheduled: 0, inFlight: 0 })
        }
      })

    it('leave the newest task of an id that is cancelled and submitted many times in one millisecond', async () => {
      const fixture = await open()
      const { backend } = fixture
      for (let i = 0; i < 12; i += 1) {
        await submit(backend, own('x', { tier: (i % 3) as Tier }), own(`y${i}`))
        expect(await cancel(backend, 'x')).toEqual([PENDING])
      }
      await submit(backend, own('x', { tier: 1 }))
      expect(await countsOf(backend)).toMatchObject({ tiers: [0, 13, 0] })
      const held = await reserve(backend, 12)
      expect(ids(held)).not.toContain('x')
      const last = await reserve(backend)
      expect(ids(last)).toEqual(['x'])
      await backend.tasks.release(TYPE, last)
      expect(ids(await reserve(backend))).toEqual(['x'])
      expect(await reserve(backend)).toEqual([])
    })

    it('spare a new task of the id that is released, retried and replayed', async () => {
      const fixture = await open()
      const { backend, clock } = fixture
      await submit(backend, own('first', { tier: 0 }), own('x', { tier: 0 }), own('last', { tier: 0 }))
      await cancel(backend, 'x')
      await submit(backend, own('x', { tier: 2 }))
      const held = await reserve(backend, 1)
      expect(ids(held)).toEqual(['first'])
      const others = await reserve(backend)
      expect(ids(others)).toEqual(['last', 'x'])
      await backend.tasks.release(TYPE, others.slice(1))
      const [again] = await reserve(backend)
      expect(again).toMatchObject({ id: 'x', attempt: 0 })
      await nack(backend, again === undefined ? [] : [again], { retryInMs: SECOND })
      clock.advance(SECOND)
      const retried = await reserve(backend)
      expect(retried).toMatchObject([{ id: 'x', attempt: 1 }])
      await nack(backend, retried, { permanent: true })
      expect(await backend.tasks.replay(TYPE, 1)).toBe(1)
      expect(await countsOf(backend)).toMatchObject({ tiers: [0, 1, 0] })
      expect(await cancel(backend, 'x')).toEqual([PENDING])
      expect(await countsOf(backend)).toMatchObject({ tiers: [0, 0, 0] })
      expect(await reserve(backend)).toEqual([])
    })

    it('free their part of the bound of the queue', async () => {
      const { backend } = await open()
      const one = async (id: string): Promise<unknown> => sole(await backend.tasks.submit(TYPE, DAY, [own(id)], 2)).kind
      expect([await one('a'), await one('b'), await one('c')]).toEqual(['queued', 'queued', 'queue_full'])
      await cancel(backend, 'a')
      expect([await one('a'), await one('c')]).toEqual(['queued', 'queue_full'])
      await cancel(backend, 'b')
      expect([await one('c'), await one('d')]).toEqual(['queued', 'queue_full'])
      expect(await pending(backend)).toEqual(['a', 'c'])
    })

    it('keep the idempotency key of the task', async () => {
      const { backend } = await open()
      await submit(backend, own('a', { key: 'k' }))
      await cancel(backend, 'a')
      expect(await backend.tasks.submit(TYPE, DAY, [own('b', { key: 'k' })])).toEqual([
        { kind: 'duplicate', duplicateOf: 'a' },
      ])
    })

    it('reach no other task of a long queue, in whatever order they come', async () => {
      const fixture = await open()
      const { backend } = fixture
      const all = Array.from({ length: 400 }, (_, i) => `t${String(i).padStart(3, '0')}`)
      await submit(backend, ...all.map((id, i) => own(id, { tier: (i % 3) as Tier })))
      const gone = all.filter((_, i) => i % 7 !== 3)
      const mixed = gone.map((id, i) => [(i * 37) % gone.length, id] as const).toSorted(([a], [b]) => a - b)
      for (let from = 0; from < mixed.length; from += 100)
        await cancel(backend, ...mixed.slice(from, from + 100).map(([, id]) => id))
      const left = all
        .filter((_, i) => i % 7 === 3)
        .toSorted((a, b) => (Number(a.slice(1)) % 3) - (Number(b.slice(1)) % 3))
      expect(await pending(backend)).toEqual(left)
      expect(ids((await backend.tasks.queue(TYPE, 5)).items)).toEqual(left.slice(0, 5))
      const { tiers } = await countsOf(backend)
      expect(tiers.reduce((sum, each) => sum + each, 0)).toBe(left.length)
      expect(ids(await reserve(backend))).toEqual(left)
      expect(await pending(backend)).toEqual([])
    })

    it('while the queue is paused show in its counts, and after it in its leases', async () => {
      const { backend } = await open()
      await submit(backend, 'a', 'b')
      await backend.tasks.pause(TYPE, { note: null, actor: 'admin', untilMs: null })
      expect(await cancel(backend, 'a')).toEqual([PENDING])
      expect(await reserve(backend)).toEqual([])
      expect(await pending(backend)).toEqual(['b'])
      await backend.tasks.resume(TYPE)
      expect(ids(await reserve(backend))).toEqual(['b'])
    })

    it('of a scheduled task change when the next one is due', async () => {
      const { backend, clock } = await open()
      const now = clock.wallMs()
      await submit(backend, own('a', { notBeforeMs: now + MINUTE }), own('b', { notBeforeMs: now + 2 * MINUTE }))
      await nack(backend, await inFlight(backend, own('c')), { retryInMs: SECOND })
      await cancel(backend, 'a', 'c')
      const gen = sole(await backend.configs.get([{ type: TYPE, id: 'w1' }]))?.gen ?? 0
      const asked = await backend.tasks.reserve(TYPE, VISIBILITY, [
        { worker: 'w1', limit: 1, gen, defaultMaxAttempts: 3 },
      ])
      expect(asked).toMatchObject({ nextDueAtMs: now + 2 * MINUTE })
      clock.advance(2 * MINUTE)
      expect(await backend.tasks.sweep(TYPE, 0, 500)).toMatchObject({ promoted: 1, more: false })
      expect(ids(await reserve(backend))).toEqual(['b'])
    })

    it('in both orders with each settle: the first of the two decides (G28)', async () => {
      const { backend } = await open()
      const lease = async (id: string): Promise<Lease> => sole(await inFlight(backend, own(id)))
      const acked = await lease('acked')
      await backend.tasks.ack(TYPE, [acked])
      const failed = await lease('failed')
      await nack(backend, [failed], { retryInMs: SECOND })
      const dying = await lease('dying')
      await nack(backend, [dying], { permanent: true })
      const released = await lease('released')
      await backend.tasks.release(TYPE, [released])
      expect(await cancel(backend, 'acked', 'failed', 'dying', 'released')).toEqual([
        NOT_FOUND,
        SCHEDULED,
        { kind: 'dead' },
        PENDING,
      ])
      const held = await lease('held')
      expect(await Promise.all([cancel(backend, 'held'), cancel(backend, 'held')])).toEqual(
        expect.arrayContaining([[endOf(held)], [NOT_FOUND]]),
      )
      expect(await settles(backend, held)).toEqual(LOST)
      expect(await backend.tasks.ack(TYPE, [acked])).toEqual(['ok'])
    })

    it('of a lease whose deadline has passed keep the sweep from making the task pending', async () => {
      const { backend, clock } = await open()
      const held = sole(await inFlight(backend, own('a')))
      clock.advance(VISIBILITY)
      expect(await cancel(backend, 'a')).toEqual([endOf(held)])
      expect(await backend.tasks.sweep(TYPE, 1, 500)).toMatchObject({ requeued: 0, dead: 0 })
      expect(await countsOf(backend)).toMatchObject({ tiers: [0, 0, 0], inFlight: 0, dead: 0 })
    })
  })
}
