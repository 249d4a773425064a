/**
 * Regression: a task that kills its workers was requeued without end. It must die after exactly the configured number
 * of lost leases (D26).
 */
import { expect, it } from '@jest/globals'
import type { Backend } from '../../src/storage/index.ts'
import {
  SECOND,
  TYPE,
  VISIBILITY,
  dead,
  ids,
  inFlight,
  nack,
  pending,
  reserve,
  sole,
  submit,
  task,
} from '../storage/contract/fixture.ts'
import type { StoreFixture } from '../storage/contract/fixture.ts'
import { onEachBackend } from './backends.ts'

const MAX_LOST = 4
const sweep = (backend: Backend): ReturnType<Backend['tasks']['sweep']> => backend.tasks.sweep(TYPE, MAX_LOST, 500)

/** Loses every lease of a round. */
async function loseAll({ backend, clock }: StoreFixture): Promise<{ requeued: number; dead: number }> {
  await reserve(backend)
  clock.advance(VISIBILITY)
  const { requeued, dead: died } = await sweep(backend)
  return { requeued, dead: died }
}

onEachBackend('lost leases to the dead-letter queue', (open) => {
  it('moves a task that kills its workers to the dead-letter queue, and lets other tasks pass', async () => {
    const fixture = await open()
    const { backend, clock } = fixture
    await submit(backend, 'killer', 'good')
    for (let lost = 1; lost < MAX_LOST; lost += 1) expect(await loseAll(fixture)).toEqual({ requeued: 2, dead: 0 })
    const leases = await reserve(backend)
    await backend.tasks.ack(
      TYPE,
      leases.filter(({ id }) => id === 'good'),
    )
    clock.advance(VISIBILITY)
    expect(await sweep(backend)).toMatchObject({ requeued: 0, dead: 1 })
    expect(sole((await backend.tasks.dead(TYPE, 10)).items)).toMatchObject({
      id: 'killer',
      attempt: 0,
      lastError: `lease lost ${MAX_LOST} times`,
      diedAtMs: clock.wallMs(),
    })
  })

  it('does not count failures, releases and late extends as lost leases', async () => {
    const fixture = await open()
    const { backend, clock } = fixture
    await submit(backend, task('a', { maxAttempts: 1_000 }))
    for (let lost = 1; lost < MAX_LOST; lost += 1) {
      expect(await loseAll(fixture)).toEqual({ requeued: 1, dead: 0 })
      await nack(backend, await reserve(backend), { retryInMs: SECOND })
      clock.advance(SECOND)
      await backend.tasks.release(TYPE, await reserve(backend))
      const late = await reserve(backend)
      clock.advance(VISIBILITY)
      await backend.tasks.extend(
        TYPE,
        late.map((lease) => ({ ...lease, visibilityMs: VISIBILITY })),
      )
      await backend.tasks.release(TYPE, late)
    }
    expect(await loseAll(fixture)).toEqual({ requeued: 0, dead: 1 })
  })

  it('counts each lost lease once, however many sweeps run', async () => {
    const fixture = await open()
    const { backend, clock } = fixture
    await submit(backend, 'a')
    for (let lost = 1; lost < MAX_LOST; lost += 1) {
      await reserve(backend)
      clock.advance(VISIBILITY)
      const swept = await Promise.all([sweep(backend), sweep(backend), sweep(backend)])
      expect(swept.reduce((sum, { requeued }) => sum + requeued, 0)).toBe(1)
    }
    expect(await loseAll(fixture)).toEqual({ requeued: 0, dead: 1 })
  })

  it('moves many tasks to the dead letters in deadline order, and restarts the count with a replay', async () => {
    const fixture = await open()
    const { backend, clock } = fixture
    await submit(backend, 'a', 'b', 'c')
    for (let lost = 1; lost < MAX_LOST; lost += 1) await loseAll(fixture)
    for (const visibility of [3, 2, 1]) await reserve(backend, 1, visibility * SECOND)
    clock.advance(3 * SECOND)
    expect(await sweep(backend)).toMatchObject({ requeued: 0, dead: 3 })
    expect(await dead(backend)).toEqual(['c', 'b', 'a'])
    await backend.tasks.replay(TYPE, 3)
    for (let lost = 1; lost < MAX_LOST; lost += 1) expect(await loseAll(fixture)).toEqual({ requeued: 3, dead: 0 })
    expect(await loseAll(fixture)).toEqual({ requeued: 0, dead: 3 })
  })

  it('requeues a task without limit if the limit is 0', async () => {
    const { backend, clock } = await open()
    await inFlight(backend, 'a')
    for (let lost = 0; lost < 50; lost += 1) {
      clock.advance(VISIBILITY)
      expect(await backend.tasks.sweep(TYPE, 0, 500)).toMatchObject({ requeued: 1, dead: 0 })
      expect(ids(await reserve(backend))).toEqual(['a'])
    }
    expect(await pending(backend)).toEqual([])
  })
})
