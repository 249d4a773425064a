/** Contract of settling a lease: rows 6 to 12 of the transition table. */
import { describe, expect, it } from '@jest/globals'
import {
  HOUR,
  MINUTE,
  SECOND,
  TYPE,
  VISIBILITY,
  dead,
  ids,
  inFlight,
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
import type { Backend, LeaseRef } from '../../../src/storage/index.ts'

/** Every operation on a lease. */
const uses: readonly (readonly [string, (backend: Backend, lease: LeaseRef) => Promise<readonly unknown[]>])[] = [
  ['ack', (backend, lease) => backend.tasks.ack(TYPE, [lease])],
  ['nack', (backend, lease) => nack(backend, [lease])],
  ['release', (backend, lease) => backend.tasks.release(TYPE, [lease])],
  [
    'extend',
    async (backend, lease) => {
      const results = await backend.tasks.extend(TYPE, [{ ...lease, visibilityMs: HOUR }])
      return results.map(({ kind }) => kind)
    },
  ],
]

export function tasksSettle(name: string, create: Create): void {
  describe(`${name} backend: tasks, ended leases`, () => {
    const open = storeFixtures(create)

    it('acks a task only by its own token, not by the token of another acked task (D80)', async () => {
      const { backend } = await open()
      const [a, b] = (await inFlight(backend, 'a', 'b')).map(refOf)
      if (a === undefined || b === undefined) throw new Error('two leases were expected')
      const mixed = { id: b.id, token: a.token }
      expect(await backend.tasks.ack(TYPE, [a, mixed, a])).toEqual(['ok', 'lease_lost', 'ok'])
      expect(await backend.tasks.ack(TYPE, [mixed, a])).toEqual(['lease_lost', 'ok'])
      expect(await backend.tasks.locate(TYPE, ['b'])).toEqual(['in_flight'])
      expect(await backend.tasks.ack(TYPE, [b])).toEqual(['ok'])
      expect(await backend.tasks.ack(TYPE, [mixed, { id: a.id, token: b.token }, a, b])).toEqual([
        'lease_lost',
        'lease_lost',
        'ok',
        'ok',
      ])
      expect((await backend.tasks.counts([TYPE]))[0]?.totals.acked).toBe(2)
    })

    for (const [use, call] of uses) {
      it(`rejects the ${use} of a lease that was issued again, and changes nothing (D24)`, async () => {
        const { backend, clock } = await open()
        const stale = refOf(sole(await inFlight(backend, 'a')))
        clock.advance(VISIBILITY)
        await backend.tasks.sweep(TYPE, 10, 500)
        const fresh = sole(await reserve(backend))
        expect(await call(backend, stale)).toEqual(['lease_lost'])
        expect(await backend.tasks.locate(TYPE, ['a'])).toEqual(['in_flight'])
        expect(await backend.tasks.ack(TYPE, [fresh])).toEqual(['ok'])
      })

      it(`rejects the ${use} of a lease that the sweep has taken`, async () => {
        const { backend, clock } = await open()
        const stale = refOf(sole(await inFlight(backend, 'a')))
        clock.advance(VISIBILITY)
        await backend.tasks.sweep(TYPE, 10, 500)
        expect(await call(backend, stale)).toEqual(['lease_lost'])
        expect(await pending(backend)).toEqual(['a'])
      })

      it(`accepts the ${use} of a lease past its deadline until a sweep takes it`, async () => {
        const { backend, clock } = await open()
        const late = refOf(sole(await inFlight(backend, 'a')))
        clock.advance(VISIBILITY + MINUTE)
        expect(await call(backend, late)).not.toEqual(['lease_lost'])
      })

      it(`rejects the ${use} of an unknown task, of another task's token, and of a token never issued`, async () => {
        const { backend } = await open()
        const [a, b] = await inFlight(backend, 'a', 'b')
        const [tokenA, tokenB] = [a?.token ?? 0, b?.token ?? 0]
        for (const lease of [
          { id: 'unknown', token: tokenA },
          { id: 'a', token: tokenB },
          { id: 'a', token: 0 },
        ]) {
          expect(await call(backend, lease)).toEqual(['lease_lost'])
        }
        for (const token of [tokenB + 1, tokenB + 1_000_000_000, Number.MAX_SAFE_INTEGER])
          expect(await call(backend, { id: 'a', token })).toEqual(['not_issued'])
        expect(await backend.tasks.locate(TYPE, ['a', 'b'])).toEqual(['in_flight', 'in_flight'])
      })

      it(`distinguishes the ${use} of a token never issued from a lost lease, also after a restart (G26)`, async () => {
        const { backend, clock } = await open()
        const [a] = await inFlight(backend, 'a')
        const token = a?.token ?? 0
        await reopen(backend)
        if (!backend.capabilities.durable) return
        expect(await call(backend, { id: 'a', token: token + 1 })).toEqual(['not_issued'])
        clock.advance(MINUTE)
        const [b] = await inFlight(backend, 'b')
        expect(await call(backend, { id: 'b', token: (b?.token ?? 0) + 1 })).toEqual(['not_issued'])
        expect(await call(backend, { id: 'b', token })).toEqual(['lease_lost'])
      })

      it(`rejects the ${use} of a lease that was nacked or released`, async () => {
        const { backend } = await open()
        const [a, b, c] = await inFlight(backend, 'a', 'b', 'c')
        const [nacked, released, killedOff] = [a, b, c].flatMap((lease) => (lease === undefined ? [] : [refOf(lease)]))
        if (nacked === undefined || released === undefined || killedOff === undefined)
          throw new Error('three leases were expected')
        await nack(backend, [nacked], { retryInMs: HOUR })
        await backend.tasks.release(TYPE, [released])
        await nack(backend, [killedOff], { permanent: true })
        for (const lease of [nacked, released, killedOff]) expect(await call(backend, lease)).toEqual(['lease_lost'])
        expect(await backend.tasks.locate(TYPE, ['a', 'b', 'c'])).toEqual(['scheduled', 'pending', 'dead'])
      })
    }

    it('returns one result per item of a batch, in order', async () => {
      const { backend } = await open()
      const [a, b] = await inFlight(backend, 'a', 'b')
      if (a === undefined || b === undefined) throw new Error('two leases were expected')
      expect(await backend.tasks.ack(TYPE, [a, { id: 'b', token: 1 }, b])).toEqual(['ok', 'lease_lost', 'ok'])
    })

    it('keeps the leases of different types apart', async () => {
      const { backend } = await open()
      const lease = sole(await inFlight(backend, 'a'))
      expect(await backend.tasks.ack('other', [lease])).toEqual(['lease_lost'])
      expect(await backend.tasks.locate('other', ['a'])).toEqual([null])
      expect(await backend.tasks.ack(TYPE, [lease])).toEqual(['ok'])
    })
  })

  describe(`${name} backend: tasks.ack`, () => {
    const open = storeFixtures(create)

    it('removes the task permanently', async () => {
      const { backend, clock } = await open()
      expect(await backend.tasks.ack(TYPE, await inFlight(backend, 'a'))).toEqual(['ok'])
      clock.advance(HOUR)
      await backend.tasks.sweep(TYPE, 10, 500)
      expect(await backend.tasks.locate(TYPE, ['a'])).toEqual([null])
      expect(await reserve(backend)).toEqual([])
    })

    it('returns ok again for a repeated ack, in one batch or later (D24)', async () => {
      const { backend, clock } = await open()
      const lease = sole(await inFlight(backend, 'a'))
      expect(await backend.tasks.ack(TYPE, [lease, lease])).toEqual(['ok', 'ok'])
      clock.advance(HOUR)
      await inFlight(backend, 'b', task('a', { ownId: true }))
      expect(await backend.tasks.ack(TYPE, [lease])).toEqual(['ok'])
      expect(await backend.tasks.locate(TYPE, ['a'])).toEqual(['in_flight'])
      expect((await backend.tasks.counts([TYPE]))[0]?.totals.acked).toBe(1)
    })

    it('still returns ok for a repeated ack after a restart, if the store is durable (D24)', async () => {
      const { backend } = await open()
      const lease = sole(await inFlight(backend, 'a'))
      await backend.tasks.ack(TYPE, [lease])
      await reopen(backend)
      expect(await backend.tasks.ack(TYPE, [lease])).toEqual([backend.capabilities.durable ? 'ok' : 'lease_lost'])
    })

    it('does not treat any other operation on a settled lease as a repeated ack', async () => {
      const { backend } = await open()
      const lease = sole(await inFlight(backend, 'a'))
      await backend.tasks.ack(TYPE, [lease])
      for (const [use, call] of uses) if (use !== 'ack') expect(await call(backend, lease)).toEqual(['lease_lost'])
    })
  })

  describe(`${name} backend: tasks.nack`, () => {
    const open = storeFixtures(create)

    it('schedules a retry and counts the attempt', async () => {
      const { backend, clock } = await open()
      expect(await nack(backend, await inFlight(backend, 'a'), { retryInMs: MINUTE })).toEqual(['scheduled'])
      expect(await backend.tasks.locate(TYPE, ['a'])).toEqual(['scheduled'])
      clock.advance(MINUTE)
      expect(sole(await reserve(backend))).toMatchObject({ id: 'a', attempt: 1, maxAttempts: 3 })
    })

    it('retries immediately with a delay of 0', async () => {
      const { backend } = await open()
      await nack(backend, await inFlight(backend, 'a'), { retryInMs: 0 })
      expect(ids(await reserve(backend))).toEqual(['a'])
    })

    it('computes retry delays with growth, cap and jitter (D25)', async () => {
      const { backend, clock } = await open()
      await submit(backend, task('a', { maxAttempts: 1000 }))
      for (const [attempt, u, delay] of [
        [0, 0.5, 500],
        [1, 0.9999, 1999],
        [2, 0.25, 1000],
        [3, 0, 0],
        [4, 0.5, 5_000],
      ] as const) {
        const lease = sole(await reserve(backend))
        expect(lease.attempt).toBe(attempt)
        await backend.tasks.nack(TYPE, { baseMs: 1_000, factor: 2, capMs: 10_000 }, [
          { ...refOf(lease), error: 'e', retryInMs: null, permanent: false, jitter: u },
        ])
        if (delay > 0) clock.advance(delay - 1)
        if (delay > 0) expect(await reserve(backend)).toEqual([])
        clock.advance(delay > 0 ? 1 : 0)
      }
      expect(sole(await reserve(backend)).attempt).toBe(5)
    })

    it('stays within the cap however often a task failed', async () => {
      const { backend, clock } = await open()
      await submit(backend, task('a', { maxAttempts: 1000 }))
      for (let i = 0; i < 300; i += 1) {
        await nack(backend, await reserve(backend), { retryInMs: 0 })
      }
      await backend.tasks.nack(TYPE, { baseMs: 86_400_000, factor: 1e9, capMs: SECOND }, [
        { ...refOf(sole(await reserve(backend))), error: 'e', retryInMs: null, permanent: false, jitter: 0.999 },
      ])
      clock.advance(SECOND)
      expect(sole(await reserve(backend)).attempt).toBe(301)
    })

    it('moves a task to the dead-letter queue after exactly its max attempts (D26)', async () => {
      const { backend, clock } = await open()
      await submit(backend, task('a', { maxAttempts: 2 }))
      expect(await nack(backend, await reserve(backend), { error: 'first', retryInMs: 0 })).toEqual(['scheduled'])
      clock.advance(SECOND)
      expect(await nack(backend, await reserve(backend), { error: 'second', retryInMs: 0 })).toEqual(['dead'])
      expect(await backend.tasks.dead(TYPE, 10)).toMatchObject({
        length: 1,
        items: [
          { id: 'a', attempt: 2, maxAttempts: 2, lastError: 'second', diedAtMs: clock.wallMs(), body: task('a').body },
        ],
      })
    })

    it('uses the max attempts of the worker that currently holds the lease', async () => {
      const { backend } = await open()
      await submit(backend, 'a')
      expect(await nack(backend, await reserve(backend, 1, VISIBILITY, 5), { retryInMs: 0 })).toEqual(['scheduled'])
      expect(await nack(backend, await reserve(backend, 1, VISIBILITY, 2), { retryInMs: 0 })).toEqual(['dead'])
      expect(sole((await backend.tasks.dead(TYPE, 10)).items)).toMatchObject({ attempt: 2, maxAttempts: 2 })
    })

    it('moves a permanently failed task to the dead-letter queue immediately (D55)', async () => {
      const { backend } = await open()
      expect(await nack(backend, await inFlight(backend, 'a'), { permanent: true, error: 'no such file' })).toEqual([
        'dead',
      ])
      expect(sole((await backend.tasks.dead(TYPE, 10)).items)).toMatchObject({
        attempt: 1,
        maxAttempts: 3,
        lastError: 'no such file',
      })
    })

    it('truncates an error text to 4,096 characters', async () => {
      const { backend } = await open()
      await nack(backend, await inFlight(backend, 'a'), { permanent: true, error: 'x'.repeat(5_000) })
      expect(sole((await backend.tasks.dead(TYPE, 10)).items).lastError).toBe('x'.repeat(4_096))
    })

    it('applies each lease of a batch once', async () => {
      const { backend } = await open()
      const lease = sole(await inFlight(backend, 'a'))
      expect(await nack(backend, [lease, lease], { retryInMs: HOUR })).toEqual(['scheduled', 'lease_lost'])
    })

    it("queues a retry in the task's own tier", async () => {
      const { backend } = await open()
      await nack(backend, await inFlight(backend, task('low', { tier: 2 })), { retryInMs: 0 })
      await submit(backend, 'normal')
      expect(ids(await reserve(backend))).toEqual(['normal', 'low'])
    })
  })

  describe(`${name} backend: tasks.extend`, () => {
    const open = storeFixtures(create)

    it('moves the deadline, so that a long run is delivered once', async () => {
      const { backend, clock } = await open()
      const lease = sole(await inFlight(backend, 'a'))
      for (let i = 0; i < 30; i += 1) {
        clock.advance(VISIBILITY / 3)
        expect(await backend.tasks.extend(TYPE, [{ ...refOf(lease), visibilityMs: VISIBILITY }])).toEqual([
          { kind: 'extended', expiresAtMs: clock.wallMs() + VISIBILITY },
        ])
        expect(await backend.tasks.sweep(TYPE, 10, 500)).toMatchObject({ requeued: 0 })
      }
      expect(await reserve(backend)).toEqual([])
      clock.advance(VISIBILITY)
      expect(await backend.tasks.sweep(TYPE, 10, 500)).toMatchObject({ requeued: 1 })
    })

    it('never moves the deadline nearer', async () => {
      const { backend, clock } = await open()
      const [lease] = await inFlight(backend, 'a')
      if (lease === undefined) throw new Error('a lease was expected')
      const far = clock.wallMs() + HOUR
      expect(await backend.tasks.extend(TYPE, [{ ...refOf(lease), visibilityMs: HOUR }])).toEqual([
        { kind: 'extended', expiresAtMs: far },
      ])
      expect(await backend.tasks.extend(TYPE, [{ ...refOf(lease), visibilityMs: SECOND }])).toEqual([
        { kind: 'extended', expiresAtMs: far },
      ])
      clock.advance(HOUR - 1)
      expect(await backend.tasks.sweep(TYPE, 10, 500)).toMatchObject({ requeued: 0 })
      clock.advance(1)
      expect(await backend.tasks.sweep(TYPE, 10, 500)).toMatchObject({ requeued: 1 })
    })

    it('counts from now for a lease past its deadline', async () => {
      const { backend, clock } = await open()
      const lease = sole(await inFlight(backend, 'a'))
      clock.advance(HOUR)
      expect(await backend.tasks.extend(TYPE, [{ ...refOf(lease), visibilityMs: SECOND }])).toEqual([
        { kind: 'extended', expiresAtMs: clock.wallMs() + SECOND },
      ])
      expect(await backend.tasks.sweep(TYPE, 10, 500)).toMatchObject({ requeued: 0 })
    })
  })

  describe(`${name} backend: tasks.release`, () => {
    const open = storeFixtures(create)

    it('puts tasks back to the front of their tier, in the given order, without counting an attempt', async () => {
      const { backend } = await open()
      const leases = await inFlight(backend, 'a', 'b', task('h', { tier: 0 }), 'c')
      await submit(backend, 'd', task('i', { tier: 0 }))
      expect(ids(leases)).toEqual(['h', 'a', 'b', 'c'])
      expect(await backend.tasks.release(TYPE, leases.map(refOf))).toEqual(['ok', 'ok', 'ok', 'ok'])
      expect(await pending(backend)).toEqual(['h', 'i', 'a', 'b', 'c', 'd'])
      expect((await reserve(backend)).map(({ attempt }) => attempt)).toEqual([0, 0, 0, 0, 0, 0])
    })

    it('keeps the attempts of earlier runs', async () => {
      const { backend } = await open()
      await nack(backend, await inFlight(backend, 'a'), { retryInMs: 0 })
      await backend.tasks.release(TYPE, await reserve(backend))
      expect(sole(await reserve(backend)).attempt).toBe(1)
    })

    it('applies each lease once', async () => {
      const { backend } = await open()
      const lease = sole(await inFlight(backend, 'a'))
      expect(await backend.tasks.release(TYPE, [lease, lease])).toEqual(['ok', 'lease_lost'])
      expect(await backend.tasks.queue(TYPE, 10)).toMatchObject({ length: 1 })
    })

    it('does not count towards the limit of lost leases', async () => {
      const { backend, clock } = await open()
      await submit(backend, 'a')
      for (let i = 0; i < 3; i += 1) await backend.tasks.release(TYPE, await reserve(backend))
      await reserve(backend)
      clock.advance(VISIBILITY)
      expect(await backend.tasks.sweep(TYPE, 2, 500)).toMatchObject({ requeued: 1, dead: 0 })
      expect(await dead(backend)).toEqual([])
    })
  })
}
