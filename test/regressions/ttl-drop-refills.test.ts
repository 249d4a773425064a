/**
 * Regression: workers got no task because expired tasks were in front of a live one. The same reserve must continue
 * behind them.
 */
import { expect, it } from '@jest/globals'
import type { Backend, NewTask, ReserveResult, Tier } from '../../src/storage/index.ts'
import { SECOND, TYPE, ask, ids, leasesOf, pending, reserve, submit, task } from '../storage/contract/fixture.ts'
import { onEachBackend } from './backends.ts'

const brief = (id: string, tier: Tier = 1): NewTask => task(id, { tier, ttlMs: SECOND })
const askFor = (backend: Backend, ...limits: number[]): Promise<ReserveResult> =>
  ask(
    backend,
    limits.map((limit) => ({ worker: 'w', limit, defaultMaxAttempts: 3 })),
  )

onEachBackend('ttl drop refills', (open) => {
  it('leases the live task behind 999 expired ones with a limit of 1', async () => {
    const { backend, clock } = await open()
    const expired = Array.from({ length: 999 }, (_, i) => brief(`e${i}`))
    await submit(backend, ...expired.slice(0, 500))
    await submit(backend, ...expired.slice(500), 'live')
    clock.advance(SECOND)
    const { results: responses, dropped } = await askFor(backend, 1)
    expect([responses.map(leasesOf).map(ids), dropped]).toEqual([[['live']], 999])
  })

  it('fills every request of a call across all tiers, and counts the dropped tasks', async () => {
    const { backend, clock } = await open()
    const live = (id: string, tier: Tier): NewTask => task(id, { tier })
    await submit(
      backend,
      brief('x1', 0),
      live('h', 0),
      brief('x2', 0),
      brief('x3'),
      live('n1', 1),
      brief('x4'),
      live('n2', 1),
      brief('x5', 2),
      live('l', 2),
    )
    clock.advance(SECOND)
    const { results: responses, dropped } = await askFor(backend, 1, 2, 2)
    expect([responses.map(leasesOf).map(ids), dropped]).toEqual([[['h'], ['n1', 'n2'], ['l']], 5])
    expect((await backend.tasks.counts([TYPE]))[0]).toMatchObject({ tiers: [0, 0, 0], inFlight: 4 })
  })

  it('drops no more tasks than necessary: it does not look behind the last task that it leases', async () => {
    const { backend, clock } = await open()
    await submit(backend, brief('x1'), 'a', brief('x2'))
    clock.advance(SECOND)
    expect((await askFor(backend, 1)).dropped).toBe(1)
    expect(await pending(backend)).toEqual(['x2'])
  })

  it('drops no task a millisecond early, and forgets dropped tasks', async () => {
    const { backend, clock } = await open()
    await submit(backend, brief('a'), brief('b'))
    clock.advance(SECOND - 1)
    expect(ids(await reserve(backend, 1))).toEqual(['a'])
    clock.advance(1)
    expect(await askFor(backend, 10)).toMatchObject({ results: [{ leases: [] }], dropped: 1 })
    expect(await backend.tasks.locate(TYPE, ['a', 'b'])).toEqual(['in_flight', null])
    await submit(backend, task('b', { ownId: true }))
    expect(ids(await reserve(backend))).toEqual(['b'])
  })
})
