/** Contract of retained outcomes: what they hold, how long they last, and what bounds them (D110, G29). */
import { describe, expect, it } from '@jest/globals'
import {
  DAY,
  HOSTILE,
  MINUTE,
  SECOND,
  TYPE,
  VISIBILITY,
  ids,
  inFlight,
  killed,
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
import type { Backend, Lease, RunResult, TaskState } from '../../../src/storage/index.ts'

const RETAIN_MS = 10 * MINUTE
const kept = (id: string, retainMs = RETAIN_MS) => task(id, { retainMs, ownId: true })
const json = (value: unknown): RunResult => ({ kind: 'json', text: JSON.stringify(value) })
const TOO_LARGE: RunResult = { kind: 'too_large' }

async function stateOf(backend: Backend, id: string): Promise<TaskState | null> {
  return sole(await backend.tasks.describe(TYPE, [id]))
}

async function kindsOf(backend: Backend, ...wanted: readonly string[]): Promise<readonly (string | null)[]> {
  const states = await Promise.all(wanted.map((id) => backend.tasks.describe(TYPE, [id])))
  return states.map(([state]) => state?.kind ?? null)
}

async function ack(backend: Backend, leases: readonly Lease[], result?: RunResult, most?: number): Promise<void> {
  const done = leases.map((lease) => ({ ...refOf(lease), ...(result !== undefined && { result }) }))
  expect(await backend.tasks.ack(TYPE, done, most)).toEqual(leases.map(() => 'ok'))
}

/** Acknowledges one task after another, so that the earlier ones expire earlier. */
async function ackOneByOne({ backend, clock }: StoreFixture, leases: readonly Lease[], most?: number): Promise<void> {
  for (const lease of leases) {
    await ack(backend, [lease], json(lease.id), most)
    clock.advance(SECOND)
  }
}

export function tasksOutcomes(name: string, create: Create): void {
  const open: () => Promise<StoreFixture> = storeFixtures(create)

  describe(`${name} backend: outcomes`, () => {
    it('are kept for retained tasks alone, with what is known of the end (D110)', async () => {
      const { backend, clock } = await open()
      const leases = await inFlight(backend, kept('a'), 'b')
      expect(leases.map(({ isRetained }) => isRetained)).toEqual([true, undefined])
      expect(await kindsOf(backend, 'a', 'b', 'c')).toEqual(['stored', 'stored', null])
      clock.advance(SECOND)
      await ack(backend, leases, json({ text: 'naïve 🦊|:' }))
      expect(await stateOf(backend, 'a')).toEqual({
        kind: 'done',
        finishedAtMs: clock.wallMs(),
        retainedUntilMs: clock.wallMs() + RETAIN_MS,
        attempt: 0,
        worker: 'w1',
        result: json({ text: 'naïve 🦊|:' }),
      })
      expect(await stateOf(backend, 'b')).toBeNull()
      expect(await backend.tasks.locate(TYPE, ['a'])).toEqual([null])
    })

    it('count the failed runs, and hold no result, or that it was too large', async () => {
      const { backend } = await open()
      expect(await nack(backend, await inFlight(backend, kept('a'), kept('b')), { retryInMs: 0 })).toEqual([
        'scheduled',
        'scheduled',
      ])
      const [first, second] = await reserve(backend)
      if (first === undefined || second === undefined) throw new Error('two tasks are due')
      await ack(backend, [first])
      await ack(backend, [second], TOO_LARGE)
      expect(await stateOf(backend, first.id)).toMatchObject({ kind: 'done', attempt: 1, result: null })
      expect(await stateOf(backend, second.id)).toMatchObject({ kind: 'done', attempt: 1, result: TOO_LARGE })
    })

    it('say expired for a task whose ttl ended before it was reserved', async () => {
      const { backend, clock } = await open()
      await submit(backend, task('a', { retainMs: RETAIN_MS, ttlMs: SECOND }), task('b', { ttlMs: SECOND }))
      clock.advance(MINUTE)
      expect(await reserve(backend)).toEqual([])
      expect(await stateOf(backend, 'a')).toEqual({
        kind: 'expired',
        finishedAtMs: clock.wallMs(),
        retainedUntilMs: clock.wallMs() + RETAIN_MS,
        attempt: 0,
        worker: null,
        result: null,
      })
      expect(await stateOf(backend, 'b')).toBeNull()
    })

    it('are not made of dead tasks, which are described by their death, and retained after a replay', async () => {
      const { backend, clock } = await open()
      await killed(backend, kept('a'))
      expect(await stateOf(backend, 'a')).toMatchObject({
        kind: 'dead',
        attempt: 1,
        diedAtMs: clock.wallMs(),
        lastError: 'boom',
      })
      await backend.tasks.replay(TYPE, 1)
      await ack(backend, await reserve(backend), json(1))
      expect(await stateOf(backend, 'a')).toMatchObject({ kind: 'done', result: json(1) })
    })

    it('survive a delay, a release, a lost lease and a restart of the store', async () => {
      const { backend, clock } = await open()
      await submit(backend, task('a', { retainMs: RETAIN_MS, notBeforeMs: clock.wallMs() + MINUTE }))
      clock.advance(MINUTE)
      await backend.tasks.release(TYPE, await reserve(backend))
      await reserve(backend)
      clock.advance(VISIBILITY)
      await backend.tasks.sweep(TYPE, 0, 500)
      const leases = await reserve(backend)
      expect(leases).toMatchObject([{ id: 'a', isRetained: true }])
      await ack(backend, leases, json('kept'))
      if (!backend.capabilities.durable) return
      await reopen(backend)
      expect(await stateOf(backend, 'a')).toMatchObject({ kind: 'done', result: json('kept') })
    })

    it('are written once: a repeated ack and a later lost one change nothing (G29)', async () => {
      const { backend, clock } = await open()
      const leases = await inFlight(backend, kept('a'))
      await ack(backend, leases, json('first'))
      const before = await stateOf(backend, 'a')
      clock.advance(SECOND)
      await ack(backend, leases, json('second'))
      const [lease] = leases
      const lost = [{ id: 'a', token: (lease?.token ?? 0) - 1, result: json('third') }]
      expect(await backend.tasks.ack(TYPE, lost)).toEqual(['lease_lost'])
      expect(await nack(backend, leases)).toEqual(['lease_lost'])
      expect(await stateOf(backend, 'a')).toEqual(before)
    })

    it('are not written by an ack whose lease was lost, but by that of the next lease (G29)', async () => {
      const { backend, clock } = await open()
      const late = await inFlight(backend, kept('a'))
      clock.advance(VISIBILITY)
      await backend.tasks.sweep(TYPE, 0, 500)
      const leases = await reserve(backend)
      expect(await backend.tasks.ack(TYPE, [{ ...refOf(sole(late)), result: json('late') }])).toEqual(['lease_lost'])
      expect(await kindsOf(backend, 'a')).toEqual(['stored'])
      await ack(backend, leases, json('current'))
      expect(await stateOf(backend, 'a')).toMatchObject({ result: json('current') })
    })

    it('make their id known until they expire, then a sweep removes them', async () => {
      const { backend, clock } = await open()
      await ack(backend, await inFlight(backend, kept('a'), kept('b', 2 * RETAIN_MS)), json(1))
      const again = [kept('a'), kept('c')]
      expect(await backend.tasks.submit(TYPE, DAY, again, 0)).toEqual([
        { kind: 'duplicate', duplicateOf: 'a' },
        { kind: 'queue_full' },
      ])
      clock.advance(RETAIN_MS - 1)
      expect(await kindsOf(backend, 'a', 'b')).toEqual(['done', 'done'])
      clock.advance(1)
      expect(await kindsOf(backend, 'a', 'b')).toEqual([null, 'done'])
      await backend.tasks.sweep(TYPE, 0, 1)
      await submit(backend, kept('a'))
      expect(await kindsOf(backend, 'a', 'b')).toEqual(['stored', 'done'])
      await ack(backend, await reserve(backend), json(2))
      expect(await stateOf(backend, 'a')).toMatchObject({ result: json(2) })
    })

    it('are replaced by those of a task that got the id of an expired one', async () => {
      const { backend, clock } = await open()
      await ack(backend, await inFlight(backend, kept('a', SECOND)), json(1))
      clock.advance(SECOND)
      await ack(backend, await inFlight(backend, kept('a')), json(2))
      await backend.tasks.sweep(TYPE, 0, 500)
      expect(await stateOf(backend, 'a')).toMatchObject({ result: json(2) })
    })

    it('are removed by the sweep in bounded steps', async () => {
      const { backend, clock } = await open()
      const names = Array.from({ length: 3 }, (_, i) => `t${i}`)
      await ack(backend, await inFlight(backend, ...names.map((id) => kept(id))), json(1))
      clock.advance(RETAIN_MS)
      const more: boolean[] = []
      for (let i = 0; i < 3; i += 1) more.push((await backend.tasks.sweep(TYPE, 0, 1)).more)
      expect(more).toEqual([true, true, false])
    })

    it('are bounded by their number: those that expire first are removed', async () => {
      const fixture = await open()
      const { backend, clock } = fixture
      const names = ['a', 'b', 'c', 'd']
      await ackOneByOne(fixture, await inFlight(backend, ...names.map((id) => kept(id))), 2)
      expect(await kindsOf(backend, ...names)).toEqual([null, null, 'done', 'done'])
      await ack(backend, await inFlight(backend, kept('short', SECOND)), json(1), 2)
      expect(await kindsOf(backend, 'c', 'd', 'short')).toEqual(['done', 'done', null])
      await ack(backend, await inFlight(backend, kept('e')), json(1), 0)
      expect(await kindsOf(backend, 'e')).toEqual([null])
      await submit(backend, task('f', { retainMs: RETAIN_MS, ttlMs: SECOND }))
      clock.advance(SECOND)
      await backend.tasks.reserve(TYPE, VISIBILITY, [{ worker: 'w1', limit: 1, gen: 0, defaultMaxAttempts: 3 }], 0)
      expect(await kindsOf(backend, 'f')).toEqual([null])
    })

    it('are bounded by 64 MiB: those that expire first are removed', async () => {
      const fixture = await open()
      const { backend, clock } = fixture
      const large = json('x'.repeat(8 * 1_048_576 - 2))
      const names = Array.from({ length: 9 }, (_, i) => `t${i}`)
      for (const lease of await inFlight(backend, ...names.map((id) => kept(id)))) {
        await ack(backend, [lease], large)
        clock.advance(SECOND)
      }
      // Each counts for a little more than its result, so seven fit.
      expect(await kindsOf(backend, ...names)).toEqual([null, null, ...names.slice(2).map(() => 'done')])
    })

    it('are described in one step, up to the given bytes, and belong to their type', async () => {
      const { backend } = await open()
      await ack(backend, await inFlight(backend, kept('a'), kept('b'), kept('c')), json('x'.repeat(1_000)))
      expect(await backend.tasks.describe(TYPE, ['a', 'b', 'c'], 1)).toHaveLength(1)
      expect(await backend.tasks.describe(TYPE, ['a', 'b', 'c'], 2_200)).toHaveLength(2)
      expect(await backend.tasks.describe(TYPE, ['a', 'b', 'c'])).toHaveLength(3)
      expect(await backend.tasks.describe('other', ['a'])).toEqual([null])
    })

    it('have any id and any worker', async () => {
      const { backend } = await open()
      const leases = await inFlight(backend, ...HOSTILE.map((id) => kept(id)))
      await ack(backend, leases, json('}"j|x'))
      expect(await kindsOf(backend, ...HOSTILE)).toEqual(HOSTILE.map(() => 'done'))
      expect(ids(leases).toSorted()).toEqual(HOSTILE.toSorted())
    })
  })
}
