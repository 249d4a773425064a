/**
 * Regression: sweeps never reached the end of one list and skipped the others. Each step must take from all lists, and
 * a reserve under load must promote due retries (D26, D28).
 */
import { expect, it } from '@jest/globals'
import type { Backend, SweepResult } from '../../src/storage/index.ts'
import { DAY, SECOND, TYPE, VISIBILITY, ids, nack, reserve, sole, submit, task } from '../storage/contract/fixture.ts'
import { onEachBackend } from './backends.ts'

const EACH = 1_200
const STEP = 500
const names = (prefix: string): string[] => Array.from({ length: EACH }, (_, i) => `${prefix}${i}`)

async function inBatches(all: readonly string[], run: (some: readonly string[]) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < all.length; from += STEP) await run(all.slice(from, from + STEP))
}

/** Creates expired leases, due retries and ended idempotency windows. */
async function overdue(backend: Backend): Promise<void> {
  await inBatches(names('k'), (some) =>
    backend.tasks.submit(
      TYPE,
      SECOND,
      some.map((id) => task(id, { key: id, ttlMs: SECOND })),
    ),
  )
  await inBatches(names('r'), async (some) => {
    await submit(backend, ...some.map((id) => task(id, { tier: 0, maxAttempts: 9 })))
    await nack(backend, await reserve(backend, some.length), { retryInMs: SECOND })
  })
  await inBatches(names('l'), async (some) => {
    await submit(backend, ...some.map((id) => task(id, { tier: 0 })))
    await reserve(backend, some.length)
  })
}

onEachBackend('sweep not starved', (open) => {
  it('takes leases, retries and windows in every step, as many steps as the longest list needs', async () => {
    const { backend, clock } = await open()
    await overdue(backend)
    clock.advance(VISIBILITY)
    const steps: SweepResult[] = []
    for (let more = true; more;) {
      const swept = await backend.tasks.sweep(TYPE, 0, STEP)
      steps.push(swept)
      more = swept.more
    }
    const sum = (of: (step: SweepResult) => number): number => steps.reduce((total, step) => total + of(step), 0)
    expect([sum((step) => step.requeued), sum((step) => step.promoted), sum((step) => step.forgottenKeys)]).toEqual([
      EACH,
      EACH,
      EACH,
    ])
    expect(steps[0]).toMatchObject({ requeued: STEP, promoted: STEP, forgottenKeys: STEP, more: true })
    expect(steps.length).toBeLessThanOrEqual(Math.ceil(EACH / STEP) + 1)
    expect((await backend.tasks.counts([TYPE]))[0]).toMatchObject({ scheduled: 0, inFlight: 0 })
  })

  it('promotes a due retry with the next reserve, however many new tasks are queued', async () => {
    const { backend, clock } = await open()
    await submit(backend, task('due', { tier: 0, maxAttempts: 9 }))
    await nack(backend, [sole(await reserve(backend))], { retryInMs: SECOND })
    await inBatches(names('fresh'), (some) =>
      backend.tasks.submit(
        TYPE,
        DAY,
        some.map((id) => task(id)),
      ),
    )
    clock.advance(SECOND)
    expect(ids(await reserve(backend, 1))).toEqual(['due'])
  })
})
