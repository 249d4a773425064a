/** Contract of submitting and reserving tasks: rows 1 to 5 of the transition table. */
import { describe, expect, it } from '@jest/globals'
import {
  DAY,
  HOSTILE,
  HOUR,
  MINUTE,
  RETRY,
  SECOND,
  TYPE,
  VISIBILITY,
  ask,
  ids,
  inFlight,
  killed,
  leasesOf,
  nack,
  pending,
  reopen,
  reserve,
  sole,
  submit,
  task,
  storeFixtures,
} from './fixture.ts'
import type { Create } from './fixture.ts'

const NOTHING = { kind: 'leased', leases: [] }

export function tasksIn(name: string, create: Create): void {
  describe(`${name} backend: tasks.submit`, () => {
    const open = storeFixtures(create)

    it('appends tasks to their tier, unchanged', async () => {
      const { backend } = await open()
      await submit(backend, 'a', 'b')
      await submit(backend, 'c')
      const { length, items } = await backend.tasks.queue(TYPE, 10)
      expect(length).toBe(3)
      expect(items).toEqual(['a', 'b', 'c'].map((id) => ({ id, attempt: 0, body: task(id).body })))
    })

    it("reports a client's id that is pending, in flight, scheduled or dead as a duplicate (D27)", async () => {
      const { backend } = await open()
      await killed(backend, task('dead', { ownId: true }))
      await nack(backend, await inFlight(backend, task('scheduled', { ownId: true })), { retryInMs: HOUR })
      await inFlight(backend, task('in flight', { ownId: true }))
      await submit(backend, task('pending', { ownId: true }))
      const known = ['dead', 'scheduled', 'in flight', 'pending']
      const results = await backend.tasks.submit(
        TYPE,
        DAY,
        known.map((id) => task(id, { ownId: true })),
      )
      expect(results).toEqual(known.map((id) => ({ kind: 'duplicate', duplicateOf: id })))
      expect(await backend.tasks.locate(TYPE, known)).toEqual(['dead', 'scheduled', 'in_flight', 'pending'])
      expect(await pending(backend)).toEqual(['pending'])
    })

    it('schedules a task with a later time, and queues it at the back of its tier when it is due (D104)', async () => {
      const { backend, clock } = await open()
      const at = clock.wallMs() + MINUTE
      await submit(backend, task('late', { notBeforeMs: at + 1 }), task('soon', { tier: 0, notBeforeMs: at }))
      expect(await backend.tasks.locate(TYPE, ['late', 'soon'])).toEqual(['scheduled', 'scheduled'])
      const [counts] = await backend.tasks.counts([TYPE])
      expect(counts).toMatchObject({ tiers: [0, 0, 0], scheduled: 2, totals: { submitted: 2 } })
      const none = await ask(backend, [{ worker: 'w1', limit: 10, defaultMaxAttempts: 3 }])
      expect(none).toMatchObject({ results: [NOTHING], nextDueAtMs: at })
      await submit(backend, 'first')
      clock.advance(MINUTE - 1)
      expect(await pending(backend)).toEqual(['first'])
      clock.advance(2)
      expect(ids(await reserve(backend))).toEqual(['soon', 'first', 'late'])
      expect((await backend.tasks.counts([TYPE]))[0]).toMatchObject({ scheduled: 0, inFlight: 3 })
    })

    it('promotes a delayed task in a sweep, and keeps its body, attempts and id (D104)', async () => {
      const { backend, clock } = await open()
      const delayed = task('a', { ownId: true, maxAttempts: 1, notBeforeMs: clock.wallMs() + SECOND })
      await submit(backend, delayed)
      expect(await backend.tasks.submit(TYPE, DAY, [delayed])).toEqual([{ kind: 'duplicate', duplicateOf: 'a' }])
      clock.advance(SECOND)
      expect(await backend.tasks.sweep(TYPE, 0, 100)).toMatchObject({ promoted: 1 })
      const [lease] = await reserve(backend)
      expect(lease).toMatchObject({ id: 'a', attempt: 0, maxAttempts: 1, body: delayed.body })
    })

    it('queues a task whose time has passed, and counts delayed ones towards the bound (D104)', async () => {
      const { backend, clock } = await open()
      const now = clock.wallMs()
      await submit(backend, task('past', { notBeforeMs: now - HOUR, ttlMs: MINUTE }), task('now', { notBeforeMs: now }))
      expect(await pending(backend)).toEqual(['past', 'now'])
      const results = await backend.tasks.submit(
        TYPE,
        DAY,
        ['b', 'c'].map((id) => task(id, { notBeforeMs: now + HOUR })),
        3,
      )
      expect(results).toEqual([{ kind: 'queued' }, { kind: 'queue_full' }])
      expect(await backend.tasks.submit(TYPE, DAY, [task('d')], 3)).toEqual([{ kind: 'queue_full' }])
    })

    it('counts a ttl from the time before which a task may not run (D104)', async () => {
      const { backend, clock } = await open()
      await submit(
        backend,
        ...['a', 'b'].map((id) => task(id, { ttlMs: MINUTE, key: id, notBeforeMs: clock.wallMs() + HOUR })),
      )
      clock.advance(HOUR + MINUTE - 1)
      expect(ids(await reserve(backend, 1))).toHaveLength(1)
      clock.advance(1)
      expect(await ask(backend, [{ worker: 'w1', limit: 1, defaultMaxAttempts: 3 }])).toMatchObject({
        results: [NOTHING],
        dropped: 1,
      })
    })

    it('keeps delayed tasks when the store is reopened, if it is durable (D104)', async () => {
      const { backend, clock } = await open()
      await submit(backend, task('a', { notBeforeMs: clock.wallMs() + MINUTE }))
      await reopen(backend)
      if (!backend.capabilities.durable) return
      expect(await backend.tasks.locate(TYPE, ['a'])).toEqual(['scheduled'])
      clock.advance(MINUTE)
      expect(ids(await reserve(backend))).toEqual(['a'])
    })

    it('accepts an id again once its task is gone', async () => {
      const { backend } = await open()
      await backend.tasks.ack(TYPE, await inFlight(backend, task('a', { ownId: true })))
      await submit(backend, task('a', { ownId: true }))
      expect(await pending(backend)).toEqual(['a'])
    })

    it('keeps equal ids of different types apart', async () => {
      const { backend } = await open()
      await submit(backend, task('a', { ownId: true, key: 'k' }))
      expect(await backend.tasks.submit('other', DAY, [task('a', { ownId: true, key: 'k' })])).toEqual([
        { kind: 'queued' },
      ])
      expect(await pending(backend)).toEqual(['a'])
    })

    it('keeps the key of a submit with a duplicate task id for its whole window (D27, D80)', async () => {
      const { backend, clock } = await open()
      await backend.tasks.submit(TYPE, DAY, [task('a', { ownId: true })])
      expect(await backend.tasks.submit(TYPE, DAY, [task('a', { ownId: true, key: 'k' })])).toEqual([
        { kind: 'duplicate', duplicateOf: 'a' },
      ])
      expect(await backend.tasks.submit(TYPE, DAY, [task('b', { key: 'k' })])).toEqual([
        { kind: 'duplicate', duplicateOf: 'a' },
      ])
      expect(
        await backend.tasks.submit(TYPE, DAY, [
          task('c', { ownId: true, key: 'l' }),
          task('c', { ownId: true, key: 'm' }),
          task('d', { key: 'm' }),
        ]),
      ).toEqual([{ kind: 'queued' }, { kind: 'duplicate', duplicateOf: 'c' }, { kind: 'duplicate', duplicateOf: 'c' }])
      clock.advance(DAY)
      expect(await backend.tasks.submit(TYPE, DAY, [task('b', { key: 'k' })])).toEqual([{ kind: 'queued' }])
    })

    it('returns the first id for a known key, whatever the second task contains', async () => {
      const { backend } = await open()
      await submit(backend, task('first', { key: 'k' }))
      const results = await backend.tasks.submit(TYPE, DAY, [
        task('second', { key: 'k', body: '{"payload":{"other":1}}' }),
      ])
      expect(results).toEqual([{ kind: 'duplicate', duplicateOf: 'first' }])
      expect((await backend.tasks.queue(TYPE, 10)).items).toEqual([
        { id: 'first', attempt: 0, body: task('first').body },
      ])
    })

    it('keeps a key after its task is gone, until its window ends', async () => {
      const { backend, clock } = await open()
      await submit(backend, task('first', { key: 'k' }))
      await backend.tasks.ack(TYPE, await reserve(backend))
      clock.advance(DAY - 1)
      expect(await backend.tasks.submit(TYPE, DAY, [task('second', { key: 'k' })])).toEqual([
        { kind: 'duplicate', duplicateOf: 'first' },
      ])
      clock.advance(1)
      await submit(backend, task('third', { key: 'k' }))
      expect(await backend.tasks.submit(TYPE, DAY, [task('fourth', { key: 'k' })])).toEqual([
        { kind: 'duplicate', duplicateOf: 'third' },
      ])
    })

    it('does not extend the window when the submit is repeated', async () => {
      const { backend, clock } = await open()
      await submit(backend, task('first', { key: 'k' }))
      clock.advance(DAY - MINUTE)
      await backend.tasks.submit(TYPE, DAY, [task('repeat', { key: 'k' })])
      clock.advance(MINUTE)
      await submit(backend, task('second', { key: 'k' }))
    })

    it('keeps a reused key when the sweep removes the expired one', async () => {
      const { backend, clock } = await open()
      await submit(backend, task('first', { key: 'k' }), task('other', { key: 'l' }))
      clock.advance(DAY)
      await submit(backend, task('second', { key: 'k' }))
      expect((await backend.tasks.sweep(TYPE, 10, 500)).forgottenKeys).toBeGreaterThanOrEqual(1)
      expect(await backend.tasks.submit(TYPE, DAY, [task('third', { key: 'k' })])).toEqual([
        { kind: 'duplicate', duplicateOf: 'second' },
      ])
      await submit(backend, task('fourth', { key: 'l' }))
    })

    it('ends the window of a key after the time of its own task (D105)', async () => {
      const { backend, clock } = await open()
      const tasks = [task('a', { key: 'k', keyTtlMs: MINUTE }), task('b'), task('c', { key: 'l' })]
      await submit(backend, ...tasks)
      clock.advance(MINUTE - SECOND)
      const again = [task('d', { key: 'l', keyTtlMs: MINUTE }), task('e', { key: 'k' })]
      const known = [
        { kind: 'duplicate', duplicateOf: 'c' },
        { kind: 'duplicate', duplicateOf: 'a' },
      ]
      expect(await backend.tasks.submit(TYPE, DAY, again)).toEqual(known)
      clock.advance(2 * SECOND)
      expect(await backend.tasks.submit(TYPE, DAY, again)).toEqual([known[0], { kind: 'queued' }])
      clock.advance(DAY - MINUTE)
      expect(await backend.tasks.submit(TYPE, DAY, [task('f', { key: 'l' })])).toEqual([{ kind: 'queued' }])
    })

    it('checks the key before the id, and stores the key of a duplicate (D80)', async () => {
      const { backend } = await open()
      await submit(backend, task('a', { ownId: true, key: 'k' }), task('b', { ownId: true }))
      const results = await backend.tasks.submit(TYPE, DAY, [
        task('b', { ownId: true, key: 'k' }),
        task('b', { ownId: true, key: 'refused' }),
        task('c', { ownId: true, key: 'refused' }),
      ])
      expect(results).toEqual([
        { kind: 'duplicate', duplicateOf: 'a' },
        { kind: 'duplicate', duplicateOf: 'b' },
        { kind: 'duplicate', duplicateOf: 'b' },
      ])
    })

    it('processes a batch in order: a later item sees an earlier one', async () => {
      const { backend } = await open()
      const results = await backend.tasks.submit(TYPE, DAY, [
        task('a', { key: 'k' }),
        task('b', { key: 'k' }),
        task('c', { ownId: true }),
        task('c', { ownId: true }),
      ])
      expect(results).toEqual([
        { kind: 'queued' },
        { kind: 'duplicate', duplicateOf: 'a' },
        { kind: 'queued' },
        { kind: 'duplicate', duplicateOf: 'c' },
      ])
      expect(await pending(backend)).toEqual(['a', 'c'])
    })

    it('queues one task for 50 concurrent submits with one key (G7)', async () => {
      const { backend } = await open()
      const results = await Promise.all(
        Array.from({ length: 50 }, (_, i) => backend.tasks.submit(TYPE, DAY, [task(`t${i}`, { key: 'k' })])),
      )
      expect(results.flat().filter((answer) => answer.kind === 'queued')).toHaveLength(1)
      const [first] = await pending(backend)
      expect(
        results.flat().filter((answer) => answer.kind === 'duplicate' && answer.duplicateOf === first),
      ).toHaveLength(49)
    })

    it('rejects new tasks at its limit, dead tasks included, and still reports duplicates (D54)', async () => {
      const { backend } = await open()
      await killed(backend, 'dead')
      await nack(backend, await inFlight(backend, 'scheduled'), { retryInMs: HOUR })
      await inFlight(backend, 'in flight')
      const results = await backend.tasks.submit(
        TYPE,
        DAY,
        [
          task('a', { ownId: true, key: 'k' }),
          task('b', { key: 'refused' }),
          task('c', { key: 'k' }),
          task('a', { ownId: true }),
        ],
        4,
      )
      expect(results).toEqual([
        { kind: 'queued' },
        { kind: 'queue_full' },
        { kind: 'duplicate', duplicateOf: 'a' },
        { kind: 'duplicate', duplicateOf: 'a' },
      ])
      expect(await backend.tasks.submit(TYPE, DAY, [task('d', { key: 'refused' })], 5)).toEqual([{ kind: 'queued' }])
    })

    it('accepts any text as id and key', async () => {
      const { backend } = await open()
      await submit(backend, ...HOSTILE.map((id) => task(id, { ownId: true, key: id })))
      expect(
        await backend.tasks.submit(
          TYPE,
          DAY,
          HOSTILE.map((id, i) => task(`again ${i}`, { key: id })),
        ),
      ).toEqual(HOSTILE.map((id) => ({ kind: 'duplicate', duplicateOf: id })))
      const leases = await reserve(backend)
      expect(ids(leases)).toEqual(HOSTILE)
      expect(await backend.tasks.ack(TYPE, leases)).toEqual(HOSTILE.map(() => 'ok'))
    })
  })

  describe(`${name} backend: tasks.reserve`, () => {
    const open = storeFixtures(create)

    it('leases high before normal before low, first in, first out within each tier', async () => {
      const { backend } = await open()
      await submit(
        backend,
        task('l1', { tier: 2 }),
        'n1',
        task('h1', { tier: 0 }),
        task('l2', { tier: 2 }),
        task('h2', { tier: 0 }),
        'n2',
      )
      expect(await pending(backend)).toEqual(['h1', 'h2', 'n1', 'n2', 'l1', 'l2'])
      expect(ids(await reserve(backend, 3))).toEqual(['h1', 'h2', 'n1'])
      await submit(backend, task('h3', { tier: 0 }))
      expect(ids(await reserve(backend))).toEqual(['h3', 'n2', 'l1', 'l2'])
    })

    it('returns everything the worker needs to run the task', async () => {
      const { backend, clock } = await open()
      const lease = sole(await inFlight(backend, 'a'))
      expect(lease).toEqual({
        id: 'a',
        token: expect.any(Number),
        attempt: 0,
        maxAttempts: 3,
        expiresAtMs: clock.wallMs() + VISIBILITY,
        body: task('a').body,
      })
      expect(Number.isSafeInteger(lease.token)).toBe(true)
    })

    it("uses the task's max attempts, or those of the worker that reserves it (D26)", async () => {
      const { backend } = await open()
      await submit(backend, task('own', { maxAttempts: 7 }), 'other')
      expect((await reserve(backend, 2, VISIBILITY, 5)).map(({ maxAttempts }) => maxAttempts)).toEqual([7, 5])
    })

    it('issues tokens that only grow (D24)', async () => {
      const { backend } = await open()
      await submit(backend, 'a', 'b', 'c')
      const [a, b] = await reserve(backend, 2)
      const [c] = await reserve(backend, 1)
      await backend.tasks.release(
        TYPE,
        [a, b, c].flatMap((lease) => lease ?? []),
      )
      const tokens = [a, b, c, ...(await reserve(backend))].map((lease) => lease?.token ?? 0)
      expect(tokens).toEqual([...new Set(tokens)].toSorted((x, y) => x - y))
      expect(tokens).toHaveLength(6)
    })

    it('serves the requests of one call in order', async () => {
      const { backend } = await open()
      await submit(backend, 'a', 'b', 'c')
      const request = (worker: string, limit: number, defaultMaxAttempts: number) => ({
        worker,
        limit,
        defaultMaxAttempts,
      })
      const { results } = await ask(backend, [request('w1', 1, 3), request('w2', 5, 4), request('w3', 1, 3)])
      const leases = results.map(leasesOf)
      expect(leases.map(ids)).toEqual([['a'], ['b', 'c'], []])
      expect(leases[1]?.map(({ maxAttempts }) => maxAttempts)).toEqual([4, 4])
    })

    it('returns empty lists for an empty queue', async () => {
      const { backend } = await open()
      const request = { worker: 'w1', limit: 10, defaultMaxAttempts: 3 }
      expect(await ask(backend, [request, request])).toEqual({
        results: [NOTHING, NOTHING],
        dropped: 0,
        nextDueAtMs: null,
      })
    })

    it('never leases one task to two callers', async () => {
      const { backend } = await open()
      await submit(backend, ...Array.from({ length: 100 }, (_, i) => `t${i}`))
      const got = (await Promise.all(Array.from({ length: 20 }, () => reserve(backend, 10)))).flat()
      expect(new Set(ids(got)).size).toBe(100)
      expect(got).toHaveLength(100)
    })

    it('returns at most 500 leases', async () => {
      const { backend } = await open()
      const many = Array.from({ length: 300 }, (_, i) => task(`t${i}`))
      await submit(backend, ...many)
      await submit(backend, ...many.map(({ id }) => task(`${id}b`)))
      expect(await reserve(backend, 10_000)).toHaveLength(500)
      expect(await reserve(backend, 10_000)).toHaveLength(100)
    })

    it('returns at most about 12 MiB, but at least one task', async () => {
      const { backend } = await open()
      const body = (mib: number): string => `{"payload":{"x":"${'x'.repeat(mib * 1_048_576)}"}}`
      for (let i = 0; i < 4; i += 1) await submit(backend, task(`t${i}`, { body: body(5) }))
      await submit(backend, task('huge', { body: body(14) }))
      expect(ids(await reserve(backend))).toEqual(['t0', 't1'])
      expect(ids(await reserve(backend))).toEqual(['t2', 't3'])
      expect(ids(await reserve(backend))).toEqual(['huge'])
    })

    it('drops and counts tasks whose TTL expired, and leases others instead', async () => {
      const { backend, clock } = await open()
      await submit(
        backend,
        task('old', { ttlMs: MINUTE }),
        task('older', { ttlMs: SECOND, tier: 0 }),
        task('young', { ttlMs: MINUTE + 1 }),
        'forever',
      )
      clock.advance(MINUTE)
      const { results, dropped } = await ask(backend, [{ worker: 'w1', limit: 1, defaultMaxAttempts: 3 }])
      expect(results.map(leasesOf).map(ids)).toEqual([['young']])
      expect(dropped).toBe(2)
      expect(await backend.tasks.locate(TYPE, ['old', 'older', 'young', 'forever'])).toEqual([
        null,
        null,
        'in_flight',
        'pending',
      ])
    })

    it('drops at most 1,000 in one call', async () => {
      const { backend, clock } = await open()
      for (const part of ['x', 'y'])
        await submit(backend, ...Array.from({ length: 500 }, (_, i) => task(`${part}${i}`, { ttlMs: SECOND })))
      await submit(backend, task('one more', { ttlMs: SECOND }), 'live')
      clock.advance(SECOND)
      const request = [{ worker: 'w1', limit: 1, defaultMaxAttempts: 3 }]
      expect(await ask(backend, request)).toEqual({ results: [NOTHING], dropped: 1000, nextDueAtMs: null })
      const second = await ask(backend, request)
      expect(second.dropped).toBe(1)
      expect(second.results.map(leasesOf).map(ids)).toEqual([['live']])
    })

    it('finds the one live task behind 1,000 expired ones', async () => {
      const { backend, clock } = await open()
      for (const part of ['x', 'y'])
        await submit(backend, ...Array.from({ length: 500 }, (_, i) => task(`${part}${i}`, { ttlMs: SECOND })))
      await submit(backend, 'live')
      clock.advance(SECOND)
      expect(ids(await reserve(backend))).toEqual(['live'])
    })

    it('counts the TTL from the submit, also after a retry, a release and a lost lease', async () => {
      const { backend, clock } = await open()
      const [retried, released, lost] = await inFlight(
        backend,
        ...['retried', 'released', 'lost'].map((id) => task(id, { ttlMs: 2 * MINUTE })),
      )
      await nack(
        backend,
        [retried].flatMap((lease) => lease ?? []),
        { retryInMs: SECOND },
      )
      await backend.tasks.release(
        TYPE,
        [released].flatMap((lease) => lease ?? []),
      )
      expect(lost?.id).toBe('lost')
      clock.advance(2 * MINUTE)
      await backend.tasks.sweep(TYPE, 10, 500)
      const { results, dropped } = await ask(backend, [{ worker: 'w1', limit: 10, defaultMaxAttempts: 3 }])
      expect(results).toEqual([NOTHING])
      expect(dropped).toBe(3)
    })

    it('promotes due retries first, to the back of their own tier in due order (D28)', async () => {
      const { backend, clock } = await open()
      const leases = await inFlight(backend, task('high', { tier: 0 }), 'late', 'early')
      const [high, late, early] = leases
      const item = (lease: typeof high, retryInMs: number) => ({
        id: lease?.id ?? '',
        token: lease?.token ?? 0,
        error: 'e',
        retryInMs,
        permanent: false,
        jitter: 0,
      })
      await backend.tasks.nack(TYPE, RETRY, [item(late, 2 * SECOND), item(early, SECOND), item(high, 3 * SECOND)])
      await submit(backend, 'waiting')
      expect(ids(await reserve(backend, 1))).toEqual(['waiting'])
      await submit(backend, 'waiting too')
      clock.advance(3 * SECOND)
      expect(ids(await reserve(backend))).toEqual(['high', 'waiting too', 'early', 'late'])
    })

    it('returns when the next retry is due', async () => {
      const { backend, clock } = await open()
      const [a, b] = (await inFlight(backend, 'a', 'b')).map((lease) => [lease])
      await nack(backend, a ?? [], { retryInMs: MINUTE })
      await nack(backend, b ?? [], { retryInMs: SECOND })
      const next = async () => (await ask(backend, [{ worker: 'w1', limit: 1, defaultMaxAttempts: 3 }])).nextDueAtMs
      const now = clock.wallMs()
      expect(await next()).toBe(now + SECOND)
      clock.advance(SECOND)
      expect(await next()).toBe(now + MINUTE)
      clock.advance(MINUTE)
      expect(await next()).toBe(null)
    })

    it('does not promote a retry before it is due', async () => {
      const { backend, clock } = await open()
      await nack(backend, await inFlight(backend, 'a'), { retryInMs: MINUTE })
      clock.advance(MINUTE - 1)
      expect(await reserve(backend)).toEqual([])
      expect(await backend.tasks.locate(TYPE, ['a'])).toEqual(['scheduled'])
      clock.advance(1)
      expect(ids(await reserve(backend))).toEqual(['a'])
    })
  })
}
