/**
 * Regression: an ack whose response was lost failed when it was repeated. Repeating a successful ack must succeed and
 * change nothing (D24).
 */
import { expect, it } from '@jest/globals'
import { HOUR, TYPE, ids, inFlight, refOf, reopen, reserve, sole, submit, task } from '../storage/contract/fixture.ts'
import { onEachBackend } from './backends.ts'

onEachBackend('repeated ack', (open) => {
  it('returns ok in the same call, from many concurrent callers, and much later', async () => {
    const { backend, clock } = await open()
    const lease = refOf(sole(await inFlight(backend, 'a')))
    expect(await backend.tasks.ack(TYPE, [lease, lease])).toEqual(['ok', 'ok'])
    const responses = await Promise.all(Array.from({ length: 50 }, async () => backend.tasks.ack(TYPE, [lease])))
    expect(new Set(responses.flat())).toEqual(new Set(['ok']))
    clock.advance(HOUR)
    await backend.tasks.sweep(TYPE, 10, 500)
    expect(await backend.tasks.ack(TYPE, [lease])).toEqual(['ok'])
    expect((await backend.tasks.counts([TYPE]))[0]?.totals.acked).toBe(1)
  })

  it('does not settle the next task with the same id', async () => {
    const { backend } = await open()
    const first = refOf(sole(await inFlight(backend, task('a', { ownId: true }))))
    await backend.tasks.ack(TYPE, [first])
    const second = sole(await inFlight(backend, task('a', { ownId: true })))
    expect(await backend.tasks.ack(TYPE, [first])).toEqual(['ok'])
    expect(await backend.tasks.locate(TYPE, ['a'])).toEqual(['in_flight'])
    expect(await backend.tasks.ack(TYPE, [refOf(second)])).toEqual(['ok'])
    expect(await backend.tasks.locate(TYPE, ['a'])).toEqual([null])
  })

  it('is remembered for each of ten thousand tasks, and for no other token', async () => {
    const { backend } = await open()
    const settled: { id: string; token: number }[] = []
    for (let from = 0; from < 10_000; from += 500) {
      await submit(backend, ...Array.from({ length: 500 }, (_, i) => `t${from + i}`))
      const leases = (await reserve(backend)).map(refOf)
      await backend.tasks.ack(TYPE, leases)
      settled.push(...leases)
    }
    for (let from = 0; from < settled.length; from += 500) {
      expect(new Set(await backend.tasks.ack(TYPE, settled.slice(from, from + 500)))).toEqual(new Set(['ok']))
    }
    const highest = Math.max(...settled.map(({ token }) => token))
    expect(
      await backend.tasks.ack(TYPE, [
        { id: 't0', token: highest + 1 },
        { id: 't0', token: 1 },
      ]),
    ).toEqual(['not_issued', 'lease_lost'])
  })

  it('is remembered through two restarts of a durable store, also with tasks in flight', async () => {
    const { backend, clock } = await open()
    const [a, b] = (await inFlight(backend, 'a', 'b')).map(refOf)
    const lease = (of: typeof a): { id: string; token: number }[] => (of === undefined ? [] : [of])
    await backend.tasks.ack(TYPE, lease(a))
    for (let restart = 0; restart < 2; restart += 1) {
      await reopen(backend)
      clock.advance(1)
      await inFlight(backend, `new ${restart}`)
    }
    const { durable } = backend.capabilities
    expect(await backend.tasks.ack(TYPE, [...lease(a), ...lease(b)])).toEqual(
      durable ? ['ok', 'ok'] : ['lease_lost', 'lease_lost'],
    )
    expect(ids((await backend.tasks.queue(TYPE, 10)).items)).toEqual([])
  })
})
