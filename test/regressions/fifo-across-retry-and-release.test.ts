/** Regression: tasks overtook each other after a retry or a release. The first task in a queue must be served first. */
import { expect, it } from '@jest/globals'
import { SECOND, TYPE, VISIBILITY, ids, inFlight, nack, pending, reserve, submit } from '../storage/contract/fixture.ts'
import { onEachBackend } from './backends.ts'

onEachBackend('fifo across retry and release', (open) => {
  it('puts released tasks in front of all others in their original order, even with several calls', async () => {
    const { backend } = await open()
    await submit(backend, 'a', 'b', 'c', 'd', 'e', 'f')
    const [a, b, c, d] = await reserve(backend, 4)
    for (const lease of [d, c])
      expect(await backend.tasks.release(TYPE, lease === undefined ? [] : [lease])).toEqual(['ok'])
    expect(await pending(backend)).toEqual(['c', 'd', 'e', 'f'])
    await backend.tasks.release(
      TYPE,
      [a, b].filter((lease) => lease !== undefined),
    )
    expect(await pending(backend)).toEqual(['a', 'b', 'c', 'd', 'e', 'f'])
  })

  it('puts retries behind pending tasks in due order, whatever the order of the nacks', async () => {
    const { backend, clock } = await open()
    const leases = await inFlight(backend, 'a', 'b', 'c')
    for (const [i, lease] of leases.entries()) await nack(backend, [lease], { retryInMs: (3 - i) * SECOND })
    await submit(backend, 'x', 'y')
    clock.advance(3 * SECOND)
    expect(ids(await reserve(backend))).toEqual(['x', 'y', 'c', 'b', 'a'])
  })

  it('serves released before pending before retried tasks, with lost leases in front by deadline', async () => {
    const { backend, clock } = await open()
    const [a, b] = await inFlight(backend, 'a', 'b')
    await nack(backend, a === undefined ? [] : [a], { retryInMs: SECOND })
    await submit(backend, 'c', 'd')
    await reserve(backend, 1, 2 * VISIBILITY)
    await reserve(backend, 1, VISIBILITY)
    clock.advance(2 * VISIBILITY)
    await backend.tasks.release(TYPE, b === undefined ? [] : [b])
    await backend.tasks.sweep(TYPE, 10, 500)
    expect(await pending(backend)).toEqual(['d', 'c', 'b', 'a'])
  })

  it('keeps the order over a hundred rounds of reserve and release', async () => {
    const { backend } = await open()
    const all = Array.from({ length: 20 }, (_, i) => `t${String(i).padStart(2, '0')}`)
    await submit(backend, ...all)
    for (let round = 0; round < 100; round += 1)
      await backend.tasks.release(TYPE, await reserve(backend, 1 + (round % 20)))
    expect(await pending(backend)).toEqual(all)
  })
})
