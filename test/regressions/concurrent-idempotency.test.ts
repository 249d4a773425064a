/**
 * Regression: two concurrent requests with one idempotency key both became tasks. Fifty must become one, and all must
 * return its id.
 */
import { expect, it } from '@jest/globals'
import type { Backend, SubmitItemResult } from '../../src/storage/index.ts'
import { MINUTE, TYPE, inFlight, reserve, sole, task } from '../storage/contract/fixture.ts'
import { onEachBackend } from './backends.ts'

const WINDOW = MINUTE
const CALLERS = 50
/** Every caller sends its own id, payload and tier. */
const storm = (backend: Backend, key: string, name: string): Promise<(readonly SubmitItemResult[])[]> =>
  Promise.all(
    Array.from({ length: CALLERS }, async (_, i) =>
      backend.tasks.submit(TYPE, WINDOW, [task(`${name}${i}`, { key, ownId: i % 2 === 0, tier: i % 3 === 0 ? 0 : 2 })]),
    ),
  )

onEachBackend('concurrent idempotency', (open) => {
  it('queues one task for fifty concurrent submits with one key, and returns its id to all (G7)', async () => {
    const { backend } = await open()
    const responses = (await storm(backend, 'k', 't')).flat()
    const { id } = sole(await reserve(backend))
    const isFirst = (answer: SubmitItemResult): boolean => answer.kind === 'queued'
    expect(responses.filter(isFirst)).toHaveLength(1)
    expect(responses.filter((answer) => !isFirst(answer))).toEqual(
      Array.from({ length: CALLERS - 1 }, () => ({ kind: 'duplicate', duplicateOf: id })),
    )
  })

  it('queues one more task after the window ended, again for fifty concurrent submits', async () => {
    const { backend, clock } = await open()
    await storm(backend, 'k', 'first')
    const first = sole(await reserve(backend))
    await backend.tasks.ack(TYPE, [first])
    clock.advance(WINDOW - 1)
    expect((await storm(backend, 'k', 'early')).flat()).toEqual(
      Array.from({ length: CALLERS }, () => ({ kind: 'duplicate', duplicateOf: first.id })),
    )
    clock.advance(1)
    await Promise.all([storm(backend, 'k', 'second'), backend.tasks.sweep(TYPE, 10, 500)])
    expect(sole(await reserve(backend)).id).toMatch(/^second/)
  })

  it('keeps 20 keys apart in 1,000 concurrent submits', async () => {
    const { backend } = await open()
    await Promise.all(Array.from({ length: 20 }, async (_, i) => storm(backend, `k${i}`, `${i}/`)))
    const leases = await reserve(backend)
    expect(new Set(leases.map(({ id }) => id.split('/')[0])).size).toBe(20)
    expect(leases).toHaveLength(20)
  })

  it('queues one task for fifty concurrent submits with the same client id, whatever its state (D27)', async () => {
    const { backend } = await open()
    await inFlight(backend, 'busy')
    for (const id of ['busy', 'new']) {
      const responses = await Promise.all(
        Array.from({ length: CALLERS }, async () => backend.tasks.submit(TYPE, WINDOW, [task(id, { ownId: true })])),
      )
      expect(responses.flat().filter((answer) => answer.kind === 'queued')).toHaveLength(id === 'new' ? 1 : 0)
    }
    expect((await backend.tasks.queue(TYPE, 10)).length).toBe(1)
  })
})
