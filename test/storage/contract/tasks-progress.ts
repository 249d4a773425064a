/** Contract of the progress of tasks: who sees it, and when it is forgotten (D114). */
import { describe, expect, it } from '@jest/globals'
import {
  HOSTILE,
  MINUTE,
  SECOND,
  TYPE,
  VISIBILITY,
  inFlight,
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
import type { Backend, ExtendItem, Lease } from '../../../src/storage/index.ts'

const own = (id: string, more: Parameters<typeof task>[1] = {}) => task(id, { ownId: true, ...more })
const item = (lease: Lease | undefined, progress: unknown): ExtendItem => {
  if (lease === undefined) throw new Error('the task is pending')
  return { ...refOf(lease), visibilityMs: VISIBILITY, progress: JSON.stringify(progress) }
}

async function report(backend: Backend, lease: Lease | undefined, progress: unknown): Promise<void> {
  expect(await backend.tasks.extend(TYPE, [item(lease, progress)])).toMatchObject([{ kind: 'extended' }])
}

/** The progress of a task that is not done; undefined if there is none. */
async function progressOf(backend: Backend, id: string): Promise<unknown> {
  const state = sole(await backend.tasks.describe(TYPE, [id]))
  if (state?.kind !== 'stored' && state?.kind !== 'dead') return undefined
  return state.progress === undefined ? undefined : JSON.parse(state.progress.text)
}

export function tasksProgress(name: string, create: Create): void {
  const open: () => Promise<StoreFixture> = storeFixtures(create)

  describe(`${name} backend: progress`, () => {
    it('is shown with its time, and only of the task that reported it', async () => {
      const { backend, clock } = await open()
      const [a, b] = await inFlight(backend, own('a'), own('b'))
      await report(backend, a, { page: 7 })
      const at = clock.wallMs()
      clock.advance(SECOND)
      expect(await backend.tasks.extend(TYPE, [{ ...refOf(a as Lease), visibilityMs: MINUTE }])).toHaveLength(1)
      expect(await backend.tasks.describe(TYPE, ['a', 'b'])).toEqual([
        { kind: 'stored', place: 'in_flight', progress: { text: '{"page":7}', atMs: at } },
        { kind: 'stored', place: 'in_flight' },
      ])
      await report(backend, a, 8)
      await report(backend, b, null)
      expect([await progressOf(backend, 'a'), await progressOf(backend, 'b')]).toEqual([8, null])
    })

    it.each(['a retry', 'a lost lease', 'a release', 'a replay'])('is handed to the run after %s', async (how) => {
      const { backend, clock } = await open()
      const leases = await inFlight(backend, own('a', { retainMs: MINUTE }), own('b'))
      const [a] = leases
      await report(backend, a, { naïve: '🦊|\n:' })
      if (how === 'a retry') await nack(backend, leases, { retryInMs: 0 })
      if (how === 'a release') await backend.tasks.release(TYPE, leases.map(refOf))
      if (how === 'a lost lease') {
        clock.advance(VISIBILITY)
        await backend.tasks.sweep(TYPE, 0, 500)
      }
      if (how === 'a replay') {
        await nack(backend, leases, { permanent: true })
        expect(sole(await backend.tasks.describe(TYPE, ['a']))).toMatchObject({
          kind: 'dead',
          progress: { atMs: clock.wallMs() },
        })
        await backend.tasks.replay(TYPE, 2)
      }
      const next = await reserve(backend)
      const ofNext = (id: string): Lease | undefined => next.find((lease) => lease.id === id)
      expect(JSON.parse(ofNext('a')?.progress ?? 'null')).toEqual({ naïve: '🦊|\n:' })
      expect(ofNext('a')?.isRetained).toBe(true)
      expect(ofNext('b')).not.toHaveProperty('progress')
      expect(await progressOf(backend, 'a')).toEqual({ naïve: '🦊|\n:' })
      await report(backend, ofNext('a'), 'second')
      expect(await progressOf(backend, 'a')).toBe('second')
    })

    it('is not stored by a lease that does not count any more', async () => {
      const { backend, clock } = await open()
      const [late] = await inFlight(backend, own('a'))
      clock.advance(VISIBILITY)
      await backend.tasks.sweep(TYPE, 0, 500)
      const [lease] = await reserve(backend)
      await report(backend, lease, 'current')
      expect(await backend.tasks.extend(TYPE, [item(late, 'late')])).toEqual([{ kind: 'lease_lost' }])
      expect(await progressOf(backend, 'a')).toBe('current')
    })

    it('is beside failed attempts, which it does not change', async () => {
      const { backend } = await open()
      let [lease] = await inFlight(backend, own('a'))
      for (let run = 0; run < 7; run += 1) {
        await report(backend, lease, run)
        await nack(backend, [lease as Lease], { error: `run ${run}`, retryInMs: 0 })
        ;[lease] = await reserve(backend, 1, VISIBILITY, 100)
        expect(lease?.progress).toBe(String(run))
      }
      await report(backend, lease, 'last')
      const state = sole(await backend.tasks.describe(TYPE, ['a']))
      expect(state?.attempts?.map(({ error }) => error)).toEqual(['run 2', 'run 3', 'run 4', 'run 5', 'run 6'])
      expect(await progressOf(backend, 'a')).toBe('last')
      await nack(backend, [lease as Lease], { permanent: true })
      expect(sole((await backend.tasks.dead(TYPE, 1)).items)).not.toHaveProperty('progress')
    })

    it('ends with its task: neither an outcome nor a new task with its id has it', async () => {
      const { backend } = await open()
      const leases = await inFlight(backend, own('kept', { retainMs: MINUTE }), own('done'), own('cancelled'))
      for (const lease of leases) await report(backend, lease, lease.id)
      await backend.tasks.cancel(TYPE, ['cancelled'], 'admin')
      await backend.tasks.ack(TYPE, leases.slice(0, 2).map(refOf))
      expect(sole(await backend.tasks.describe(TYPE, ['kept']))).toMatchObject({ kind: 'done', result: null })
      expect(sole(await backend.tasks.describe(TYPE, ['kept']))).not.toHaveProperty('progress')
      await submit(backend, own('done'), own('cancelled'))
      for (const id of ['done', 'cancelled'])
        expect(sole(await backend.tasks.describe(TYPE, [id]))).toEqual({ kind: 'stored', place: 'pending' })
      for (const lease of await reserve(backend)) expect(lease).not.toHaveProperty('progress')
    })

    it('counts the later one of two reports in one call, and survives a restart of the store', async () => {
      const { backend } = await open()
      const [lease] = await inFlight(backend, own('a'))
      await backend.tasks.extend(TYPE, [item(lease, 1), item(lease, 2)])
      expect(await progressOf(backend, 'a')).toBe(2)
      if (!backend.capabilities.durable) return
      await reopen(backend)
      expect(await progressOf(backend, 'a')).toBe(2)
    })

    it('has any id and any text', async () => {
      const { backend } = await open()
      for (const lease of await inFlight(backend, ...HOSTILE.map((id) => own(id))))
        await report(backend, lease, lease.id)
      for (const id of HOSTILE) expect(await progressOf(backend, id)).toBe(id)
    })
  })
}
