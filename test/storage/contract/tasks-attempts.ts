/** Contract of the failed attempts that are kept of a task: what they say, and when they are forgotten (D115). */
import { describe, expect, it } from '@jest/globals'
import {
  DAY,
  HOSTILE,
  MINUTE,
  SECOND,
  TYPE,
  VISIBILITY,
  ask,
  inFlight,
  killed,
  leasesOf,
  nack,
  refOf,
  reopen,
  reserve,
  sole,
  storeFixtures,
  submit,
  task,
} from './fixture.ts'
import type { Create, StoreFixture } from './fixture.ts'
import type { Backend, FailedAttempt, Lease } from '../../../src/storage/index.ts'

const own = (id: string, more: Parameters<typeof task>[1] = {}) => task(id, { ownId: true, ...more })

async function attemptsOf(backend: Backend, id: string): Promise<readonly FailedAttempt[] | undefined> {
  return sole(await backend.tasks.describe(TYPE, [id]))?.attempts
}

const errorsOf = async (backend: Backend, id: string): Promise<readonly (string | null)[] | undefined> =>
  (await attemptsOf(backend, id))?.map(({ error }) => error)

/** Lets the run of the only task fail, and reserves the task again. */
async function failed(backend: Backend, leases: readonly Lease[], error: string): Promise<readonly Lease[]> {
  expect(await nack(backend, leases, { error, retryInMs: 0 })).toEqual(leases.map(() => 'scheduled'))
  return reserve(backend, 500, VISIBILITY, 100)
}

const running = (backend: Backend, ttlMs: number | null = null): Promise<readonly Lease[]> =>
  inFlight(backend, own('a', { ttlMs }))

/** Lets the lease of each task in flight run out. */
async function lost({ backend, clock }: StoreFixture, maxLost = 0): Promise<void> {
  clock.advance(VISIBILITY)
  await backend.tasks.sweep(TYPE, maxLost, 500)
}

export function tasksAttempts(name: string, create: Create): void {
  const open: () => Promise<StoreFixture> = storeFixtures(create)

  describe(`${name} backend: failed attempts`, () => {
    it('are kept in each place, the oldest first, and not of tasks that did not fail', async () => {
      const fixture = await open()
      const { backend, clock } = fixture
      const leases = await inFlight(backend, own('a'), own('b'))
      expect(sole(await backend.tasks.describe(TYPE, ['a']))).toEqual({ kind: 'stored', place: 'in_flight' })
      await nack(backend, leases.slice(0, 1), { retryInMs: SECOND })
      const first = { kind: 'failed', attempt: 1, atMs: clock.wallMs(), error: 'boom', worker: 'w1' }
      const scheduled = { kind: 'stored', place: 'scheduled', attempts: [first] }
      expect(sole(await backend.tasks.describe(TYPE, ['a']))).toEqual(scheduled)
      clock.advance(SECOND)
      const asked = await ask(backend, [{ worker: 'w2', limit: 1, defaultMaxAttempts: 3 }])
      expect(leasesOf(sole(asked.results))).toMatchObject([{ id: 'a', attempt: 1 }])
      expect(await attemptsOf(backend, 'a')).toEqual([first])
      await lost(fixture)
      const second = { kind: 'lease_lost', attempt: 1, atMs: clock.wallMs(), error: null, worker: 'w2' }
      const pending = { kind: 'stored', place: 'pending', attempts: [first, second] }
      expect(sole(await backend.tasks.describe(TYPE, ['a']))).toEqual(pending)
      expect(await attemptsOf(backend, 'b')).toEqual([{ ...second, attempt: 0, worker: 'w1' }])
    })

    it('are shown with a dead task, and kept by a replay', async () => {
      const fixture = await open()
      const { backend, clock } = fixture
      const leases = await failed(backend, await inFlight(backend, own('a')), 'one')
      await nack(backend, leases, { error: 'two', permanent: true })
      const attempts = ['one', 'two'].map((error, i) => ({
        kind: 'failed',
        attempt: i + 1,
        atMs: clock.wallMs(),
        error,
        worker: 'w1',
      }))
      expect(sole((await backend.tasks.dead(TYPE, 10)).items)).toMatchObject({ id: 'a', attempt: 2, attempts })
      expect(sole(await backend.tasks.describe(TYPE, ['a']))).toMatchObject({ kind: 'dead', attempts })
      await backend.tasks.replay(TYPE, 1)
      expect(await attemptsOf(backend, 'a')).toEqual(attempts)
      await reserve(backend)
      await lost(fixture, 1)
      const lease = { kind: 'lease_lost', attempt: 0, atMs: clock.wallMs(), error: null, worker: 'w1' }
      expect(sole((await backend.tasks.dead(TYPE, 10)).items).attempts).toEqual([...attempts, lease])
      await backend.tasks.applyToDead(TYPE, 'replay', ['a'])
      expect(await attemptsOf(backend, 'a')).toEqual([...attempts, lease])
    })

    it('are the newest five, with errors of at most 256 characters', async () => {
      const { backend } = await open()
      const names = HOSTILE.slice(0, -1).join('\n') + 'x'.repeat(256)
      let leases = await inFlight(backend, own('a'))
      for (const error of ['0', '1', '2', '3', 'x'.repeat(255) + '🦊', 'ü'.repeat(257), names])
        leases = await failed(backend, leases, error)
      const kept = ['2', '3', 'x'.repeat(255), 'ü'.repeat(256), names.slice(0, 256)]
      expect(await errorsOf(backend, 'a')).toEqual(kept)
      expect((await attemptsOf(backend, 'a'))?.map(({ attempt }) => attempt)).toEqual([3, 4, 5, 6, 7])
    })

    it('survive a release, a settled batch and a restart of the store', async () => {
      const { backend } = await open()
      await backend.tasks.release(TYPE, await failed(backend, await inFlight(backend, own('a')), 'one'))
      expect(await errorsOf(backend, 'a')).toEqual(['one'])
      const leases = await reserve(backend)
      const [item, again] = [...leases, ...leases].map((lease) => ({
        ...refOf(lease),
        error: 'two',
        retryInMs: 0,
        permanent: false,
        jitter: 0,
      }))
      if (item === undefined || again === undefined) throw new Error('the task is due')
      const retry = { baseMs: 0, factor: 1, capMs: 0 }
      expect(await backend.tasks.nack(TYPE, retry, [item, again])).toEqual(['scheduled', 'lease_lost'])
      expect(await errorsOf(backend, 'a')).toEqual(['one', 'two'])
      if (!backend.capabilities.durable) return
      await reopen(backend)
      expect(await errorsOf(backend, 'a')).toEqual(['one', 'two'])
    })

    it('are part of the outcome of a retained task, done or expired', async () => {
      const { backend, clock } = await open()
      const items = [own('a', { retainMs: DAY }), own('b', { retainMs: DAY, ttlMs: 2 * MINUTE })]
      const leases = await failed(backend, await inFlight(backend, ...items), 'one')
      expect(leases).toMatchObject([{ isRetained: true }, { isRetained: true }])
      const result = { kind: 'json', text: '{"n":1}' } as const
      const [a, b] = leases.toSorted((one, other) => one.id.localeCompare(other.id))
      if (a === undefined || b === undefined) throw new Error('two tasks are due')
      await backend.tasks.ack(TYPE, [{ ...refOf(a), result }])
      await backend.tasks.release(TYPE, [b])
      const at = clock.wallMs()
      clock.advance(2 * MINUTE)
      expect(await reserve(backend)).toEqual([])
      const attempts = [{ kind: 'failed', attempt: 1, atMs: at, error: 'one', worker: 'w1' }]
      const states = await backend.tasks.describe(TYPE, ['a', 'b'])
      expect(states).toMatchObject([
        { kind: 'done', result, attempts },
        { kind: 'expired', result: null, attempts },
      ])
    })

    it.each<readonly [string, (fixture: StoreFixture) => Promise<unknown>]>([
      ['an ack', async ({ backend }) => backend.tasks.ack(TYPE, await failed(backend, await running(backend), 'old'))],
      [
        'a cancel of a scheduled task',
        async ({ backend }) => {
          await nack(backend, await running(backend))
          await backend.tasks.cancel(TYPE, ['a'], 'admin')
        },
      ],
      [
        'a cancel of a task in flight',
        async ({ backend }) => {
          await failed(backend, await running(backend), 'old')
          await backend.tasks.cancel(TYPE, ['a'], 'admin')
        },
      ],
      [
        'the end of its ttl',
        async (fixture) => {
          await failed(fixture.backend, await running(fixture.backend, SECOND), 'old')
          await lost(fixture)
          expect(await reserve(fixture.backend)).toEqual([])
        },
      ],
      [
        'its removal',
        async ({ backend }) => {
          await killed(backend, own('a'))
          await backend.tasks.applyToDead(TYPE, 'remove', ['a'])
        },
      ],
      [
        'the removal of all dead tasks',
        async ({ backend }) => {
          await killed(backend, own('a'))
          await backend.tasks.clearDead(TYPE)
        },
      ],
    ])('are forgotten with %s: a new task with this id has none', async (_what, end) => {
      const fixture = await open()
      const { backend } = fixture
      await end(fixture)
      expect(sole(await backend.tasks.describe(TYPE, ['a']))).toBeNull()
      await submit(backend, own('a'))
      expect(sole(await backend.tasks.describe(TYPE, ['a']))).toEqual({ kind: 'stored', place: 'pending' })
      await failed(backend, await reserve(backend), 'new')
      expect(await errorsOf(backend, 'a')).toEqual(['new'])
    })

    it('have any id, any worker and any error', async () => {
      const { backend } = await open()
      for (const text of HOSTILE) {
        await submit(backend, own(text))
        const asked = await ask(backend, [{ worker: text, limit: 1, defaultMaxAttempts: 3 }])
        await nack(backend, leasesOf(sole(asked.results)), { error: text })
      }
      const states = await backend.tasks.describe(TYPE, HOSTILE)
      const expected = HOSTILE.map((text) => [{ worker: text, error: text.slice(0, 256) }])
      expect(states.map((state) => state?.attempts)).toMatchObject(expected)
    })
  })
}
