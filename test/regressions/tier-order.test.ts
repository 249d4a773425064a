/**
 * Regression: requeued tasks lost their priority. A tier must be drained before the next, however its tasks got there.
 */
import { expect, it } from '@jest/globals'
import type { NewTask, Tier } from '../../src/storage/index.ts'
import {
  SECOND,
  TYPE,
  VISIBILITY,
  ask,
  ids,
  inFlight,
  killed,
  leasesOf,
  nack,
  reserve,
  submit,
  task,
} from '../storage/contract/fixture.ts'
import { onEachBackend } from './backends.ts'

const tiered = (id: string, tier: Tier): NewTask => task(id, { tier })
const low = tiered('low', 2)
const normal = tiered('normal', 1)
const high = tiered('high', 0)

onEachBackend('tier order', (open) => {
  it('applies to tasks that were released, lost their lease or are retried (D28)', async () => {
    const { backend, clock } = await open()
    const back = [
      async (): Promise<unknown> => backend.tasks.release(TYPE, await reserve(backend)),
      async (): Promise<unknown> => {
        await reserve(backend)
        clock.advance(VISIBILITY)
        return backend.tasks.sweep(TYPE, 100, 500)
      },
      async (): Promise<unknown> => {
        await nack(backend, await reserve(backend, 500, VISIBILITY, 100), { retryInMs: SECOND })
        return clock.advance(SECOND)
      },
    ]
    await submit(backend, low, normal, high)
    for (const path of [...back, ...back.toReversed()]) {
      await path()
      const leases = await reserve(backend)
      expect(ids(leases)).toEqual(['high', 'normal', 'low'])
      await backend.tasks.release(TYPE, leases)
    }
  })

  it('applies within one reserve that takes from all tiers, for each of its requests', async () => {
    const { backend } = await open()
    await submit(backend, low, normal, high, tiered('low 2', 2), tiered('high 2', 0))
    const request = { worker: 'w', limit: 2, defaultMaxAttempts: 3 }
    const { results: responses } = await ask(backend, [request, request, request])
    expect(responses.map(leasesOf).map(ids)).toEqual([['high', 'high 2'], ['normal', 'low'], ['low 2']])
  })

  it('serves a later high task before all pending tasks, but preempts no running one', async () => {
    const { backend } = await open()
    await inFlight(backend, 'running')
    await submit(backend, 'waiting', low)
    await submit(backend, high)
    expect(ids(await reserve(backend))).toEqual(['high', 'waiting', 'low'])
  })

  it('appends replayed tasks to the normal tier, and to their own tier after a release (D26)', async () => {
    const { backend } = await open()
    await killed(backend, high, low)
    await submit(backend, normal)
    await backend.tasks.replay(TYPE, 10)
    const leases = await reserve(backend)
    expect(ids(leases)).toEqual(['normal', 'high', 'low'])
    await backend.tasks.release(TYPE, leases)
    expect((await backend.tasks.counts([TYPE]))[0]?.tiers).toEqual([1, 1, 1])
  })
})
