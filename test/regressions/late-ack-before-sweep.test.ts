/**
 * Regression: finished work was lost because its deadline had just passed. A lease must end by the sweep that takes it,
 * not by the clock alone.
 */
import { expect, it } from '@jest/globals'
import { HOUR, TYPE, VISIBILITY, ids, inFlight, nack, refOf, reserve, sole } from '../storage/contract/fixture.ts'
import { onEachBackend } from './backends.ts'

onEachBackend('late ack before sweep', (open) => {
  it('accepts a late ack until a sweep takes the lease', async () => {
    const { backend, clock } = await open()
    const leases = (await inFlight(backend, 'a', 'b')).map(refOf)
    clock.advance(VISIBILITY + HOUR)
    expect(await reserve(backend)).toEqual([])
    expect(await backend.tasks.ack(TYPE, leases)).toEqual(['ok', 'ok'])
    expect(await backend.tasks.sweep(TYPE, 10, 500)).toMatchObject({ requeued: 0 })
  })

  it('rejects an ack after the sweep, even before the task is leased again, and does not move the task', async () => {
    const { backend, clock } = await open()
    const lease = refOf(sole(await inFlight(backend, 'a')))
    clock.advance(VISIBILITY)
    await backend.tasks.sweep(TYPE, 10, 500)
    expect(await backend.tasks.ack(TYPE, [lease])).toEqual(['lease_lost'])
    const again = sole(await reserve(backend))
    expect([again.id, again.token > lease.token]).toEqual(['a', true])
    expect(await backend.tasks.ack(TYPE, [lease])).toEqual(['lease_lost'])
    expect(await backend.tasks.locate(TYPE, ['a'])).toEqual(['in_flight'])
  })

  it('renews a late lease with an extend, so the sweep skips it', async () => {
    const { backend, clock } = await open()
    const lease = refOf(sole(await inFlight(backend, 'a')))
    clock.advance(VISIBILITY)
    const [extended] = await backend.tasks.extend(TYPE, [{ ...lease, visibilityMs: VISIBILITY }])
    expect(extended).toEqual({ kind: 'extended', expiresAtMs: (await backend.meta.info()).nowMs + VISIBILITY })
    expect(await backend.tasks.sweep(TYPE, 10, 500)).toMatchObject({ requeued: 0 })
    expect(await backend.tasks.ack(TYPE, [lease])).toEqual(['ok'])
  })

  it('applies exactly one of ack, nack and sweep that race for a late lease', async () => {
    const { backend, clock } = await open()
    const names = Array.from({ length: 60 }, (_, i) => `t${i}`)
    const leases = (await inFlight(backend, ...names)).map(refOf)
    clock.advance(VISIBILITY)
    const [acks, swept, nacks] = await Promise.all([
      backend.tasks.ack(TYPE, leases.slice(0, 40)),
      backend.tasks.sweep(TYPE, 10, 30),
      nack(backend, leases.slice(20), { permanent: true }),
    ])
    const acked = acks.filter((answer) => answer === 'ok').length
    const died = nacks.filter((answer) => answer === 'dead').length
    expect(acked + died + swept.requeued).toBe(names.length)
    expect((await backend.tasks.counts([TYPE]))[0]).toMatchObject({ inFlight: 0, dead: died, totals: { acked } })
    expect(ids((await backend.tasks.queue(TYPE, 100)).items)).toHaveLength(swept.requeued)
  })
})
