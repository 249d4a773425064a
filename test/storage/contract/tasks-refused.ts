/** Contract of rejected reserves: a reserve decides atomically whether the worker may lease tasks (G14). */
import { describe, expect, it } from '@jest/globals'
import {
  TYPE,
  VISIBILITY,
  conn,
  ids,
  leasesOf,
  nack,
  pending,
  ref,
  registration,
  sole,
  submit,
  storeFixtures,
} from './fixture.ts'
import type { Create } from './fixture.ts'
import type { Backend, Reservation, ReserveRefusal, ReserveRequest, ReserveResult } from '../../../src/storage/index.ts'

const request = (worker: string, more: Partial<ReserveRequest> = {}): ReserveRequest => ({
  worker,
  limit: 2,
  gen: 0,
  defaultMaxAttempts: 3,
  ...more,
})
const reserve = (backend: Backend, ...requests: readonly ReserveRequest[]): Promise<ReserveResult> =>
  backend.tasks.reserve(TYPE, VISIBILITY, requests)
const refused = (reason: ReserveRefusal): Reservation => ({ kind: 'refused', reason })
const put = (backend: Backend, id: string, expectGen: number) =>
  backend.configs.put({
    ...ref(id),
    expectGen,
    config: '{"max_attempts":5}',
    changed: ['max_attempts'],
    actor: 'admin',
  })

export function tasksRefused(name: string, create: Create): void {
  describe(`${name} backend: tasks.reserve, rejections`, () => {
    const open = storeFixtures(create)
    /** Workers w1 and w2, and the tasks a, b and c. */
    const staffed = async () => {
      const fixture = await open()
      await fixture.backend.meta.beat('m1')
      await fixture.backend.workers.register([
        registration('w1', 'm1/1', { instance: 'i1' }),
        registration('w2', 'm1/2', { instance: 'i2' }),
      ])
      await submit(fixture.backend, 'a', 'b', 'c')
      return fixture
    }

    it('returns unknown for a worker that is not registered, whatever generation it sends (D7)', async () => {
      const { backend } = await staffed()
      expect(await reserve(backend, request('w3'), request('w3', { gen: 7 }))).toEqual({
        results: [refused('unknown'), refused('unknown')],
        dropped: 0,
        nextDueAtMs: null,
      })
      expect(await backend.tasks.reserve('another type', VISIBILITY, [request('w1')])).toMatchObject({
        results: [refused('unknown')],
      })
      await backend.workers.forget([ref('w1')])
      expect(await reserve(backend, request('w1'))).toMatchObject({ results: [refused('unknown')] })
      expect(await pending(backend)).toEqual(['a', 'b', 'c'])
    })

    it('returns draining from the acknowledged drain until another process registers (G14)', async () => {
      const { backend } = await staffed()
      const before = leasesOf(sole((await reserve(backend, request('w1', { limit: 1 }))).results))
      await backend.workers.drain([ref('w1')])
      expect(await reserve(backend, request('w1'), request('w1', { gen: 9 }))).toMatchObject({
        results: [refused('draining'), refused('draining')],
      })
      await backend.workers.disconnect([conn('w1', 'm1/1')])
      expect(await reserve(backend, request('w1'))).toMatchObject({ results: [refused('draining')] })
      await backend.workers.register([registration('w1', 'm1/3', { instance: 'i1' })])
      expect(await reserve(backend, request('w1'))).toMatchObject({ results: [refused('draining')] })
      expect(await pending(backend)).toEqual(['b', 'c'])
      expect(await backend.tasks.ack(TYPE, before)).toEqual(['ok']) // Existing leases stay valid.
      await backend.workers.register([registration('w1', 'm1/4', { instance: 'i9' })])
      expect((await reserve(backend, request('w1'))).results.map(leasesOf).map(ids)).toEqual([['b', 'c']])
    })

    it('returns draining for a worker whose drain was requested while it was disconnected (D6)', async () => {
      const { backend } = await staffed()
      await backend.workers.disconnect([conn('w1', 'm1/1')])
      await backend.workers.drain([ref('w1')])
      expect(await reserve(backend, request('w1'))).toMatchObject({ results: [refused('draining')] })
    })

    it('returns stale when the config has another generation, and leases with the stored one (D26)', async () => {
      const { backend } = await staffed()
      await put(backend, 'w1', 0)
      expect(await reserve(backend, request('w1'), request('w1', { gen: 2 }))).toMatchObject({
        results: [refused('stale'), refused('stale')],
      })
      const answer = sole((await reserve(backend, request('w1', { gen: 1, defaultMaxAttempts: 5 }))).results)
      expect(leasesOf(answer)).toMatchObject([
        { id: 'a', maxAttempts: 5 },
        { id: 'b', maxAttempts: 5 },
      ])
      await backend.configs.raise([{ ...ref('w1'), above: 1_000_000 }])
      expect(await reserve(backend, request('w1', { gen: 1 }))).toMatchObject({ results: [refused('stale')] })
      expect((await reserve(backend, request('w1', { gen: 1_000_001 }))).results.map(leasesOf).map(ids)).toEqual([
        ['c'],
      ])
      await backend.workers.forget([ref('w2')])
      await backend.workers.register([registration('w2', 'm1/5')])
      expect(await reserve(backend, request('w2'))).toMatchObject({ results: [refused('stale')] })
    })

    it('leases the tasks of rejected requests to the other requests of the call', async () => {
      const { backend } = await staffed()
      await backend.workers.drain([ref('w2')])
      const { results } = await reserve(
        backend,
        request('w2', { limit: 500 }),
        request('w1', { limit: 1 }),
        request('w3', { limit: 500 }),
        request('w1', { gen: 4 }),
        request('w1', { limit: 500 }),
      )
      expect(results.map((answer) => (answer.kind === 'refused' ? answer.reason : ids(answer.leases)))).toEqual([
        'draining',
        ['a'],
        'unknown',
        'stale',
        ['b', 'c'],
      ])
      expect(
        await backend.tasks.ack(
          TYPE,
          results.flatMap((answer) => (answer.kind === 'refused' ? [] : answer.leases)),
        ),
      ).toEqual(['ok', 'ok', 'ok'])
    })

    it('promotes due retries and returns when the next is due, even if every request is rejected', async () => {
      const { backend, clock } = await staffed()
      const leases = leasesOf(sole((await reserve(backend, request('w1', { limit: 3 }))).results))
      await nack(backend, leases.slice(0, 2), { retryInMs: 1_000 })
      await nack(backend, leases.slice(2), { retryInMs: 9_000 })
      clock.advance(1_000)
      expect(await reserve(backend, request('w3'))).toEqual({
        results: [refused('unknown')],
        dropped: 0,
        nextDueAtMs: clock.wallMs() + 8_000,
      })
      expect(await pending(backend)).toEqual(['a', 'b'])
    })
  })
}
