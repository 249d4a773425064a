/**
 * Regression: tasks were retried once too often or too rarely. A task must die with exactly its max attempts, whatever
 * happens between the failures (D26).
 */
import { expect, it } from '@jest/globals'
import type { Backend, Lease } from '../../src/storage/index.ts'
import { TYPE, VISIBILITY, dead, nack, reserve, sole, submit, task } from '../storage/contract/fixture.ts'
import type { StoreFixture } from '../storage/contract/fixture.ts'
import { onEachBackend } from './backends.ts'

/** Events between two failures that must not count as a failure. */
const DETOURS: Readonly<Record<string, (fixture: StoreFixture, lease: Lease) => Promise<unknown>>> = {
  none: async ({ backend }, lease) => backend.tasks.extend(TYPE, [{ ...lease, visibilityMs: VISIBILITY }]),
  release: async ({ backend }, lease) => backend.tasks.release(TYPE, [lease]),
  'lost lease': async ({ backend, clock }) => {
    clock.advance(VISIBILITY)
    return backend.tasks.sweep(TYPE, 0, 500)
  },
  'refused settling': async ({ backend }, lease) =>
    backend.tasks.nack(TYPE, { baseMs: 0, factor: 1, capMs: 0 }, [
      { ...lease, token: lease.token - 1, error: 'x', retryInMs: null, permanent: true, jitter: 0 },
    ]),
}

async function leased(backend: Backend, workersLimit: number): Promise<Lease> {
  return sole(await reserve(backend, 1, VISIBILITY, workersLimit))
}

onEachBackend('attempts exact', (open) => {
  for (const max of [1, 2, 3, 7]) {
    for (const own of [true, false]) {
      it(`dies with failure ${max} of ${max}, with ${own ? 'its own limit' : "the worker's limit"}`, async () => {
        const fixture = await open()
        const { backend } = fixture
        await submit(backend, task('a', { maxAttempts: own ? max : null }))
        for (let failed = 0; failed < max; failed += 1) {
          for (const [name, detour] of Object.entries(DETOURS)) {
            const lease = await leased(backend, own ? 1_000 : max)
            expect(lease).toMatchObject({ attempt: failed, maxAttempts: max })
            await detour(fixture, lease)
            if (name === 'none' || name === 'refused settling') await backend.tasks.release(TYPE, [lease])
          }
          const lease = await leased(backend, own ? 1_000 : max)
          expect(await nack(backend, [lease], { retryInMs: 0 })).toEqual([failed + 1 < max ? 'scheduled' : 'dead'])
        }
        expect(sole((await backend.tasks.dead(TYPE, 10)).items)).toMatchObject({
          id: 'a',
          attempt: max,
          maxAttempts: max,
        })
      })
    }
  }

  it('restarts the count with a replay and dies after the same number of failures', async () => {
    const { backend } = await open()
    await submit(backend, task('a', { maxAttempts: 2 }))
    for (let life = 0; life < 3; life += 1) {
      expect(await nack(backend, [await leased(backend, 1)], { retryInMs: 0 })).toEqual(['scheduled'])
      expect(await nack(backend, [await leased(backend, 1)], { retryInMs: 0 })).toEqual(['dead'])
      expect(await dead(backend)).toEqual(['a'])
      await backend.tasks.replay(TYPE, 1)
    }
  })

  it('counts a failure once, however often its nack is repeated', async () => {
    const { backend } = await open()
    await submit(backend, task('a', { maxAttempts: 3 }))
    const lease = await leased(backend, 1)
    const responses = await Promise.all(
      Array.from({ length: 10 }, async () => nack(backend, [lease, lease], { retryInMs: 0 })),
    )
    expect(responses.flat().toSorted()).toEqual([...Array.from({ length: 19 }, () => 'lease_lost'), 'scheduled'])
    expect((await leased(backend, 1)).attempt).toBe(1)
  })
})
