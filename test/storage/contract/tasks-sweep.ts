/** Contract of the sweep, the dead-letter queue and task inspection: rows 13 to 17 of the transition table. */
import { describe, expect, it } from '@jest/globals'
import {
  DAY,
  HOUR,
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
  submit,
  task,
  storeFixtures,
} from './fixture.ts'
import type { Create } from './fixture.ts'

export function tasksSweep(name: string, create: Create): void {
  describe(`${name} backend: tasks.sweep`, () => {
    const open = storeFixtures(create)

    it('hides a reserved task until its visibility deadline, then queues it again', async () => {
      const { backend, clock } = await open()
      await inFlight(backend, 'a')
      clock.advance(VISIBILITY - 1)
      expect(await backend.tasks.sweep(TYPE, 10, 500)).toEqual({
        requeued: 0,
        promoted: 0,
        dead: 0,
        forgottenKeys: 0,
        more: false,
      })
      expect(await reserve(backend)).toEqual([])
      clock.advance(1)
      expect(await backend.tasks.sweep(TYPE, 10, 500)).toEqual({
        requeued: 1,
        promoted: 0,
        dead: 0,
        forgottenKeys: 0,
        more: false,
      })
      expect(sole(await reserve(backend))).toMatchObject({ id: 'a', attempt: 0 })
    })

    it('puts tasks at the front of their tiers in the order of their deadlines', async () => {
      const { backend, clock } = await open()
      await submit(backend, 'a', 'b', 'c', task('h', { tier: 0 }))
      await reserve(backend, 1, 3 * SECOND)
      await reserve(backend, 1, 2 * SECOND)
      await reserve(backend, 1, SECOND)
      await reserve(backend, 1, 4 * SECOND)
      await submit(backend, 'd', task('i', { tier: 0 }))
      clock.advance(4 * SECOND)
      expect(await backend.tasks.sweep(TYPE, 10, 500)).toMatchObject({ requeued: 4 })
      expect(await pending(backend)).toEqual(['h', 'i', 'b', 'a', 'c', 'd'])
    })

    it('moves a task to the dead-letter queue after exactly the configured number of lost leases (D26)', async () => {
      const { backend, clock } = await open()
      await submit(backend, 'a')
      for (let lost = 1; lost <= 3; lost += 1) {
        expect(ids(await reserve(backend))).toEqual(['a'])
        clock.advance(VISIBILITY)
        expect(await backend.tasks.sweep(TYPE, 3, 500)).toMatchObject(
          lost < 3 ? { requeued: 1, dead: 0 } : { requeued: 0, dead: 1 },
        )
      }
      expect(await backend.tasks.dead(TYPE, 10)).toMatchObject({
        length: 1,
        items: [
          {
            id: 'a',
            attempt: 0,
            maxAttempts: 3,
            lastError: 'lease lost 3 times',
            diedAtMs: clock.wallMs(),
            body: task('a').body,
          },
        ],
      })
    })

    it('queues a task again without limit when the number of lost leases is 0', async () => {
      const { backend, clock } = await open()
      await submit(backend, 'a')
      for (let i = 0; i < 20; i += 1) {
        await reserve(backend)
        clock.advance(VISIBILITY)
        expect(await backend.tasks.sweep(TYPE, 0, 500)).toMatchObject({ requeued: 1, dead: 0 })
      }
    })

    it('counts lost leases and failed attempts separately', async () => {
      const { backend, clock } = await open()
      await submit(backend, task('a', { maxAttempts: 2 }))
      await reserve(backend)
      clock.advance(VISIBILITY)
      await backend.tasks.sweep(TYPE, 3, 500)
      await nack(backend, await reserve(backend), { retryInMs: 0 })
      await reserve(backend)
      clock.advance(VISIBILITY)
      expect(await backend.tasks.sweep(TYPE, 3, 500)).toMatchObject({ requeued: 1, dead: 0 })
      expect(await nack(backend, await reserve(backend))).toEqual(['dead'])
      expect(sole((await backend.tasks.dead(TYPE, 10)).items).attempt).toBe(2)
    })

    it('promotes due retries to the back of their tier (D28)', async () => {
      const { backend, clock } = await open()
      await nack(backend, await inFlight(backend, 'a'), { retryInMs: SECOND })
      await submit(backend, 'b')
      clock.advance(SECOND)
      expect(await backend.tasks.sweep(TYPE, 10, 500)).toMatchObject({ promoted: 1 })
      expect(await pending(backend)).toEqual(['b', 'a'])
      expect(await backend.tasks.sweep(TYPE, 10, 500)).toMatchObject({ promoted: 0 })
    })

    it('processes at most the limit of each kind, earliest first, and reports that there is more', async () => {
      const { backend, clock } = await open()
      await submit(backend, ...['k1', 'k2', 'k3'].map((key) => task(key, { key, maxAttempts: 9 })))
      await nack(backend, await reserve(backend), { retryInMs: SECOND })
      await submit(backend, 'a', 'b', 'c')
      for (let i = 1; i <= 3; i += 1) await reserve(backend, 1, i * SECOND)
      clock.advance(DAY)
      expect(await backend.tasks.sweep(TYPE, 10, 2)).toEqual({
        requeued: 2,
        promoted: 2,
        dead: 0,
        forgottenKeys: 2,
        more: true,
      })
      expect(await backend.tasks.locate(TYPE, ['a', 'b', 'c'])).toEqual(['pending', 'pending', 'in_flight'])
      expect(await backend.tasks.sweep(TYPE, 10, 2)).toEqual({
        requeued: 1,
        promoted: 1,
        dead: 0,
        forgottenKeys: 1,
        more: false,
      })
    })

    it('moves each task once when two sweeps run concurrently', async () => {
      const { backend, clock } = await open()
      await inFlight(backend, ...Array.from({ length: 50 }, (_, i) => `t${i}`))
      clock.advance(VISIBILITY)
      const swept = await Promise.all([
        backend.tasks.sweep(TYPE, 10, 500),
        backend.tasks.sweep(TYPE, 10, 500),
        reserve(backend),
      ])
      expect(swept[0].requeued + swept[1].requeued).toBe(50)
      const again = [...swept[2], ...(await reserve(backend))]
      expect(new Set(ids(again)).size).toBe(50)
      expect(again).toHaveLength(50)
    })

    it('neither ends nor extends a lease when the wall clock is changed', async () => {
      const { backend, clock } = await open()
      await inFlight(backend, 'a')
      clock.stepWall(HOUR)
      expect(await backend.tasks.sweep(TYPE, 10, 500)).toMatchObject({ requeued: 0 })
      clock.stepWall(-2 * HOUR)
      clock.advance(VISIBILITY)
      expect(await backend.tasks.sweep(TYPE, 10, 500)).toMatchObject({ requeued: 1 })
    })
  })

  describe(`${name} backend: tasks.dead and replay`, () => {
    const open = storeFixtures(create)

    it('lists the oldest death first, at most n, with the total length', async () => {
      const { backend, clock } = await open()
      await killed(backend, 'b')
      clock.advance(SECOND)
      await killed(backend, 'a', 'c')
      const { length, items } = await backend.tasks.dead(TYPE, 2)
      expect(length).toBe(3)
      expect(ids(items)).toEqual(['b', 'a'])
      expect(items[0]).toMatchObject({
        id: 'b',
        attempt: 1,
        maxAttempts: 3,
        lastError: 'boom',
        diedAtMs: clock.wallMs() - SECOND,
        body: task('b').body,
      })
    })

    it('replays in that order to the back of the normal tier, with attempts 0', async () => {
      const { backend } = await open()
      await killed(backend, task('h', { tier: 0 }), 'n', task('l', { tier: 2 }))
      await submit(backend, 'waiting', task('high', { tier: 0 }))
      expect(await backend.tasks.replay(TYPE, 2)).toBe(2)
      expect(await pending(backend)).toEqual(['high', 'waiting', 'h', 'n'])
      expect(await dead(backend)).toEqual(['l'])
      expect(await backend.tasks.replay(TYPE, 500)).toBe(1)
      expect(await backend.tasks.replay(TYPE, 500)).toBe(0)
      expect((await reserve(backend)).map(({ attempt }) => attempt)).toEqual([0, 0, 0, 0, 0])
    })

    it('replays no task that died after the given death number (D84)', async () => {
      const { backend } = await open()
      const before = await backend.tasks.newestDeath(TYPE)
      await killed(backend, 'a', 'b')
      const until = await backend.tasks.newestDeath(TYPE)
      expect(until).toBeGreaterThan(before)
      expect(await backend.tasks.replay(TYPE, 1, until)).toBe(1)
      expect(await nack(backend, await reserve(backend), { permanent: true })).toEqual(['dead'])
      expect(await dead(backend)).toEqual(['b', 'a'])
      expect(await backend.tasks.replay(TYPE, 10, until)).toBe(1)
      expect(await dead(backend)).toEqual(['a'])
      await backend.tasks.clearDead(TYPE)
      await backend.tasks.ack(TYPE, await reserve(backend))
      await killed(backend, 'c')
      expect(await backend.tasks.replay(TYPE, 10, until)).toBe(0)
      expect(await backend.tasks.replay(TYPE, 10, await backend.tasks.newestDeath(TYPE))).toBe(1)
    })

    it('restarts the TTL of a replayed task', async () => {
      const { backend, clock } = await open()
      await killed(backend, task('a', { ttlMs: MINUTE }))
      clock.advance(HOUR)
      await backend.tasks.replay(TYPE, 1)
      clock.advance(MINUTE - 1)
      await backend.tasks.release(TYPE, await reserve(backend))
      clock.advance(1)
      expect(await reserve(backend)).toEqual([])
    })

    it('resets the lost leases of a replayed task', async () => {
      const { backend, clock } = await open()
      await inFlight(backend, 'a')
      clock.advance(VISIBILITY)
      expect(await backend.tasks.sweep(TYPE, 1, 500)).toMatchObject({ dead: 1 })
      await backend.tasks.replay(TYPE, 1)
      await reserve(backend)
      clock.advance(VISIBILITY)
      expect(await backend.tasks.sweep(TYPE, 2, 500)).toMatchObject({ requeued: 1, dead: 0 })
    })

    it("uses the replayed task's own tier for its next retry", async () => {
      const { backend } = await open()
      await killed(backend, task('low', { tier: 2 }))
      await backend.tasks.replay(TYPE, 1)
      await nack(backend, await reserve(backend), { retryInMs: 0 })
      await submit(backend, 'normal')
      expect(ids(await reserve(backend))).toEqual(['normal', 'low'])
    })

    it('appends a task that dies again', async () => {
      const { backend } = await open()
      await killed(backend, 'a', 'b')
      await backend.tasks.replay(TYPE, 1)
      await nack(backend, await reserve(backend), { permanent: true })
      expect(await dead(backend)).toEqual(['b', 'a'])
    })
  })

  describe(`${name} backend: tasks.clearDead and select`, () => {
    const open = storeFixtures(create)

    it('removes all dead tasks and frees their ids', async () => {
      const { backend } = await open()
      await killed(backend, task('a', { ownId: true }), 'b')
      await submit(backend, 'c')
      expect(await backend.tasks.clearDead(TYPE)).toBe(2)
      expect(await backend.tasks.dead(TYPE, 10)).toEqual({ length: 0, items: [] })
      expect(await backend.tasks.locate(TYPE, ['a', 'b', 'c'])).toEqual([null, null, 'pending'])
      expect((await backend.tasks.counts([TYPE]))[0]?.dead).toBe(0)
      expect(await backend.tasks.applyToDead(TYPE, 'replay', ['b'])).toEqual(['not_dead'])
      expect(await backend.tasks.replay(TYPE, 10)).toBe(0)
      expect(await backend.tasks.clearDead(TYPE)).toBe(0)
      await backend.tasks.ack(TYPE, await reserve(backend))
      await killed(backend, task('b'), task('a', { ownId: true }))
      expect(await dead(backend)).toEqual(['b', 'a'])
      expect((await backend.tasks.counts([TYPE]))[0]).toMatchObject({ dead: 2, totals: { submitted: 5, died: 4 } })
    })

    it('does not count removed tasks towards the limit', async () => {
      const { backend } = await open()
      await killed(backend, 'a', 'b')
      expect(await backend.tasks.submit(TYPE, DAY, [task('c')], 2)).toEqual([{ kind: 'queue_full' }])
      await backend.tasks.clearDead(TYPE)
      expect(await backend.tasks.submit(TYPE, DAY, [task('c')], 2)).toEqual([{ kind: 'queued' }])
    })

    it('replays only the given tasks, in the given order (D50)', async () => {
      const { backend } = await open()
      await killed(backend, 'a', 'b', 'c')
      await submit(backend, 'd')
      expect(await backend.tasks.applyToDead(TYPE, 'replay', ['c', 'd', 'unknown', 'a', 'c'])).toEqual([
        'replayed',
        'not_dead',
        'not_dead',
        'replayed',
        'not_dead',
      ])
      expect(await pending(backend)).toEqual(['d', 'c', 'a'])
      expect(await dead(backend)).toEqual(['b'])
    })

    it('removes only the given tasks (D50)', async () => {
      const { backend } = await open()
      await killed(backend, 'a', 'b', 'c')
      expect(await backend.tasks.applyToDead(TYPE, 'remove', ['b', 'b'])).toEqual(['removed', 'not_dead'])
      expect(await dead(backend)).toEqual(['a', 'c'])
      expect(await backend.tasks.locate(TYPE, ['b'])).toEqual([null])
    })

    it('neither loses nor duplicates a task when replay, select and clearDead race', async () => {
      const { backend } = await open()
      const all = Array.from({ length: 60 }, (_, i) => `t${i}`)
      await killed(backend, ...all)
      const [replayed, selected, cleared] = await Promise.all([
        backend.tasks.replay(TYPE, 20),
        backend.tasks.applyToDead(TYPE, 'replay', all.slice(10, 40)),
        backend.tasks.clearDead(TYPE),
      ])
      const queued = await pending(backend)
      expect(queued).toHaveLength(replayed + selected.filter((answer) => answer === 'replayed').length)
      expect(new Set(queued).size + cleared).toBe(60)
    })
  })

  describe(`${name} backend: tasks.countDue`, () => {
    const open = storeFixtures(create)

    it('counts the scheduled tasks that become pending within a time, at most 10,000 (D139)', async () => {
      const { backend, clock } = await open()
      expect(await backend.tasks.countDue(TYPE, 0)).toBe(0)
      const now = clock.wallMs()
      const delayed = (id: string, ms: number) => task(id, { notBeforeMs: now + ms })
      await submit(backend, 'now', delayed('a', 10 * SECOND), delayed('b', 30 * SECOND), delayed('c', HOUR))
      expect(await backend.tasks.countDue(TYPE, 9 * SECOND)).toBe(0)
      expect(await backend.tasks.countDue(TYPE, 30 * SECOND)).toBe(2)
      expect(await backend.tasks.countDue('other', HOUR)).toBe(0)
      clock.advance(MINUTE)
      expect(await backend.tasks.countDue(TYPE, 0)).toBe(2)
      expect(await backend.tasks.countDue(TYPE, HOUR)).toBe(3)
      for (let i = 0; i < 21; i += 1)
        await submit(backend, ...Array.from({ length: 500 }, (_, at) => delayed(`m${i}-${at}`, HOUR)))
      expect(await backend.tasks.countDue(TYPE, HOUR)).toBe(10_000)
    })
  })

  describe(`${name} backend: tasks.locate, queue and counts`, () => {
    const open = storeFixtures(create)

    it('returns the state of each task', async () => {
      const { backend } = await open()
      await killed(backend, 'dead')
      await nack(backend, await inFlight(backend, 'scheduled'), { retryInMs: HOUR })
      await inFlight(backend, 'in flight')
      await submit(backend, 'pending')
      expect(await backend.tasks.locate(TYPE, ['pending', 'gone', 'dead', 'scheduled', 'in flight'])).toEqual([
        'pending',
        null,
        'dead',
        'scheduled',
        'in_flight',
      ])
    })

    it('returns at most n pending tasks, and at most 32 MiB', async () => {
      const { backend } = await open()
      const body = `{"payload":{"x":"${'x'.repeat(9 * 1_048_576)}"}}`
      for (let i = 0; i < 5; i += 1) await submit(backend, task(`t${i}`, { body }))
      expect(ids((await backend.tasks.queue(TYPE, 2)).items)).toEqual(['t0', 't1'])
      const { length, items } = await backend.tasks.queue(TYPE, 10_000)
      expect(length).toBe(5)
      expect(ids(items)).toEqual(['t0', 't1', 't2'])
    })

    it('counts an empty type as zero', async () => {
      const { backend } = await open()
      const zero = {
        tiers: [0, 0, 0],
        scheduled: 0,
        inFlight: 0,
        dead: 0,
        oldestSubmittedAtMs: null,
        totals: { submitted: 0, acked: 0, nacked: 0, died: 0 },
      }
      expect(await backend.tasks.counts(['never', 'seen'])).toEqual([zero, zero])
      expect(await backend.tasks.counts([])).toEqual([])
    })

    it('counts tasks per state and all transitions so far', async () => {
      const { backend, clock } = await open()
      await killed(backend, 'dead', 'dead too')
      const [one, two, three] = await inFlight(backend, 'acked', 'scheduled', 'lost')
      if (one === undefined || two === undefined || three === undefined) throw new Error('three leases were expected')
      await backend.tasks.ack(TYPE, [one, one])
      await nack(backend, [two], { retryInMs: HOUR })
      clock.advance(VISIBILITY)
      await backend.tasks.sweep(TYPE, 1, 500)
      await inFlight(backend, 'in flight')
      await submit(
        backend,
        task('h', { tier: 0, submittedAtMs: 30 }),
        task('n', { submittedAtMs: 20 }),
        task('m', { submittedAtMs: 10 }),
        task('l', { tier: 2, submittedAtMs: 40 }),
      )
      await backend.tasks.submit(TYPE, DAY, [task('h', { ownId: true })])
      expect(await backend.tasks.counts([TYPE])).toEqual([
        {
          tiers: [1, 2, 1],
          scheduled: 1,
          inFlight: 1,
          dead: 3,
          oldestSubmittedAtMs: 20,
          totals: { submitted: 10, acked: 1, nacked: 3, died: 3 },
        },
      ])
    })

    it('keeps tasks, leases and totals across a restart if and only if it is durable', async () => {
      const { backend, clock } = await open()
      await killed(backend, 'dead')
      await nack(backend, await inFlight(backend, 'scheduled'), { retryInMs: MINUTE })
      const lease = refOf(sole(await inFlight(backend, task('in flight', { key: 'k', maxAttempts: 4 }))))
      await submit(backend, task('low', { tier: 2 }), 'pending')
      const before = await backend.tasks.counts([TYPE])
      await reopen(backend)
      const { durable } = backend.capabilities
      expect(await backend.tasks.locate(TYPE, ['pending', 'in flight', 'scheduled', 'dead'])).toEqual(
        durable ? ['pending', 'in_flight', 'scheduled', 'dead'] : [null, null, null, null],
      )
      if (!durable) return
      expect(await backend.tasks.counts([TYPE])).toEqual(before)
      expect(await backend.tasks.submit(TYPE, DAY, [task('new', { key: 'k' })])).toEqual([
        { kind: 'duplicate', duplicateOf: 'in flight' },
      ])
      expect(await backend.tasks.extend(TYPE, [{ ...lease, visibilityMs: VISIBILITY }])).toEqual([
        { kind: 'extended', expiresAtMs: clock.wallMs() + VISIBILITY },
      ])
      clock.advance(MINUTE)
      expect(ids(await reserve(backend))).toEqual(['pending', 'scheduled', 'low'])
      await backend.tasks.sweep(TYPE, 10, 500)
      expect(sole(await reserve(backend))).toMatchObject({ id: 'in flight', maxAttempts: 4 })
    })

    it('never issues a token twice, even across restarts (D24)', async () => {
      const { backend } = await open()
      let last = 0
      for (let life = 0; life < 4; life += 1) {
        const { token } = sole(await inFlight(backend, `t${life}`))
        expect(token).toBeGreaterThan(last)
        last = token
        await reopen(backend)
      }
    })
  })
}
