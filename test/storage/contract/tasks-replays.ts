/** Contract of replays: what became of the tasks of each (D180). */
import { describe, expect, it } from '@jest/globals'
import {
  RETRY,
  SECOND,
  TYPE,
  VISIBILITY,
  inFlight,
  nack,
  refOf,
  reopen,
  reserve,
  storeFixtures,
  task,
} from './fixture.ts'
import type { Create, StoreFixture } from './fixture.ts'
import { errorGroup } from '../../../src/storage/index.ts'
import type { Backend, Lease } from '../../../src/storage/index.ts'

const FAR = 9_000_000_000_000
const GROUP = errorGroup('boom')

/** Lets tasks die, so that all of them are in one group. */
async function died(backend: Backend, ...names: readonly string[]): Promise<void> {
  const leases = await inFlight(backend, ...names.map((id) => task(id, { ownId: true })))
  expect(await nack(backend, leases, { error: 'boom', permanent: true })).toEqual(leases.map(() => 'dead'))
}

const replayGroup = (backend: Backend, replay?: string): Promise<number> =>
  backend.tasks.applyToDeadGroup(TYPE, { group: GROUP, action: 'replay', diedBeforeMs: FAR, n: 500, replay })
const countsOf = async (backend: Backend, replay: string) => (await backend.tasks.replayCounts(TYPE, [replay]))[0]
const ack = (backend: Backend, leases: readonly Lease[]) => backend.tasks.ack(TYPE, leases.map(refOf))
const kill = (backend: Backend, leases: readonly Lease[]) => nack(backend, leases, { error: 'boom', permanent: true })

export function tasksReplays(name: string, create: Create): void {
  const open: () => Promise<StoreFixture> = storeFixtures(create)

  describe(`${name} backend: replays`, () => {
    it('count the tasks that are done and that are dead again', async () => {
      const { backend } = await open()
      await died(backend, 'a', 'b', 'c', 'd')
      expect(await replayGroup(backend, 'r1')).toBe(4)
      expect(await countsOf(backend, 'r1')).toEqual({ done: 0, died: 0 })
      const [a, b, c, d] = await reserve(backend, 4)
      if (a === undefined || b === undefined || c === undefined || d === undefined) throw new Error('not leased')
      expect(await ack(backend, [a, b])).toEqual(['ok', 'ok'])
      expect(await kill(backend, [c])).toEqual(['dead'])
      expect(await countsOf(backend, 'r1')).toEqual({ done: 2, died: 1 })
      expect(await ack(backend, [a])).toEqual(['ok'])
      expect(await ack(backend, [d])).toEqual(['ok'])
      expect(await countsOf(backend, 'r1')).toEqual({ done: 3, died: 1 })
    })

    it('keep a task through retries and lost leases, also beyond the attempts that are kept', async () => {
      const { backend, clock } = await open()
      await died(backend, 'a', 'b')
      await replayGroup(backend, 'r1')
      for (let run = 0; run < 7; run += 1) {
        const leases = await reserve(backend, 2, VISIBILITY, 100)
        expect(leases).toHaveLength(2)
        if (run % 2 === 0) {
          await backend.tasks.nack(
            TYPE,
            RETRY,
            leases.map((lease) => ({
              ...refOf(lease),
              error: `a "replay":"r9"} ${run}`,
              retryInMs: SECOND,
              permanent: false,
              jitter: 0,
            })),
          )
          clock.advance(2 * SECOND)
        } else clock.advance(VISIBILITY + SECOND)
        await backend.tasks.sweep(TYPE, 0, 500)
      }
      const [a, b] = await reserve(backend, 2)
      if (a === undefined || b === undefined) throw new Error('not leased')
      expect(JSON.stringify(await backend.tasks.describe(TYPE, ['a']))).not.toContain('"replay":"r1"')
      await ack(backend, [a])
      clock.advance(VISIBILITY + SECOND)
      await backend.tasks.sweep(TYPE, 1, 500)
      expect(await countsOf(backend, 'r1')).toEqual({ done: 1, died: 1 })
    })

    it('are counted separately: a task counts for its newest replay', async () => {
      const { backend } = await open()
      await died(backend, 'a', 'b')
      await replayGroup(backend, 'r1')
      await kill(backend, await reserve(backend, 2))
      expect(await backend.tasks.replay(TYPE, 1, undefined, 'r2')).toBe(1)
      expect(await backend.tasks.applyToDead(TYPE, 'replay', ['b'], 'r3')).toEqual(['replayed'])
      await ack(backend, await reserve(backend, 2))
      expect(await backend.tasks.replayCounts(TYPE, ['r1', 'r2', 'r3', 'unknown'])).toEqual([
        { done: 0, died: 2 },
        { done: 1, died: 0 },
        { done: 1, died: 0 },
        null,
      ])
    })

    it('count nothing of a replay without an id, and of one that was forgotten', async () => {
      const { backend } = await open()
      await died(backend, 'a')
      await replayGroup(backend, 'r1')
      await kill(backend, await reserve(backend, 1))
      await replayGroup(backend)
      await ack(backend, await reserve(backend, 1))
      expect(await countsOf(backend, 'r1')).toEqual({ done: 0, died: 1 })
      await died(backend, 'b')
      await replayGroup(backend, 'r2')
      await backend.tasks.forgetReplays(TYPE, ['r1', 'r2'])
      await ack(backend, await reserve(backend, 1))
      expect(await backend.tasks.replayCounts(TYPE, ['r1', 'r2'])).toEqual([null, null])
    })

    it('count the tasks of a paced replay, and those of several calls together', async () => {
      const { backend, clock } = await open()
      await died(backend, 'a', 'b')
      const pace = { delayMs: 0, intervalMs: SECOND }
      for (let call = 0; call < 2; call += 1)
        await backend.tasks.applyToDeadGroup(TYPE, {
          group: GROUP,
          action: 'replay',
          diedBeforeMs: FAR,
          n: 1,
          pace,
          replay: 'r1',
        })
      clock.advance(2 * SECOND)
      await ack(backend, await reserve(backend, 2))
      expect(await countsOf(backend, 'r1')).toEqual({ done: 2, died: 0 })
    })

    it('survive a restart of a store that does', async () => {
      const { backend } = await open()
      await died(backend, 'a')
      await replayGroup(backend, 'r1')
      await reopen(backend)
      if ((await countsOf(backend, 'r1')) === null) return // The memory store is empty.
      await ack(backend, await reserve(backend, 1))
      expect(await countsOf(backend, 'r1')).toEqual({ done: 1, died: 0 })
    })
  })
}
