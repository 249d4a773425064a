/** The contract of a reserve whose worker may have no task: said in the step that would have leased it (G14). */
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
  worlds,
} from './world.ts'
import type { Create } from './world.ts'
import type { Backend, Reserved, ReserveRequest } from '../../../src/storage/index.ts'

const request = (worker: string, more: Partial<ReserveRequest> = {}): ReserveRequest => ({
  worker,
  limit: 2,
  gen: 0,
  defaultMaxAttempts: 3,
  ...more,
})
const reserve = (backend: Backend, ...requests: readonly ReserveRequest[]): Promise<Reserved> =>
  backend.tasks.reserve(TYPE, VISIBILITY, requests)
const put = (backend: Backend, id: string, expectGen: number) =>
  backend.configs.put({
    ...ref(id),
    expectGen,
    config: '{"max_attempts":5}',
    changed: ['max_attempts'],
    actor: 'admin',
  })

export function tasksRefused(name: string, create: Create): void {
  describe(`${name} backend: tasks.reserve, who may`, () => {
    const open = worlds(create)
    /** Workers w1 and w2, and the tasks a, b and c. */
    const staffed = async () => {
      const world = await open()
      await world.backend.meta.beat('m1')
      await world.backend.workers.register([
        registration('w1', 'm1/1', { instance: 'i1' }),
        registration('w2', 'm1/2', { instance: 'i2' }),
      ])
      await submit(world.backend, 'a', 'b', 'c')
      return world
    }

    it('answers unknown to a worker that is not registered, whatever generation it names (D7)', async () => {
      const { backend } = await staffed()
      expect(await reserve(backend, request('w3'), request('w3', { gen: 7 }))).toEqual({
        answers: ['unknown', 'unknown'],
        dropped: 0,
        nextDue: null,
      })
      expect(await backend.tasks.reserve('another type', VISIBILITY, [request('w1')])).toMatchObject({
        answers: ['unknown'],
      })
      await backend.workers.forget([ref('w1')])
      expect(await reserve(backend, request('w1'))).toMatchObject({ answers: ['unknown'] })
      expect(await pending(backend)).toEqual(['a', 'b', 'c'])
    })

    it('answers draining from the moment its drain is answered until another process registers (G14)', async () => {
      const { backend } = await staffed()
      const before = leasesOf(sole((await reserve(backend, request('w1', { limit: 1 }))).answers))
      await backend.workers.drain([ref('w1')])
      expect(await reserve(backend, request('w1'), request('w1', { gen: 9 }))).toMatchObject({
        answers: ['draining', 'draining'],
      })
      await backend.workers.disconnect([conn('w1', 'm1/1')])
      expect(await reserve(backend, request('w1'))).toMatchObject({ answers: ['draining'] })
      await backend.workers.register([registration('w1', 'm1/3', { instance: 'i1' })])
      expect(await reserve(backend, request('w1'))).toMatchObject({ answers: ['draining'] })
      expect(await pending(backend)).toEqual(['b', 'c'])
      expect(await backend.tasks.ack(TYPE, before)).toEqual(['ok']) // What it holds stays its own.
      await backend.workers.register([registration('w1', 'm1/4', { instance: 'i9' })])
      expect((await reserve(backend, request('w1'))).answers.map(leasesOf).map(ids)).toEqual([['b', 'c']])
    })

    it('answers draining to a worker whose drain was asked for while it was away (D6)', async () => {
      const { backend } = await staffed()
      await backend.workers.disconnect([conn('w1', 'm1/1')])
      await backend.workers.drain([ref('w1')])
      expect(await reserve(backend, request('w1'))).toMatchObject({ answers: ['draining'] })
    })

    it('answers stale where the config has another generation, and leases by the one that is stored (D26)', async () => {
      const { backend } = await staffed()
      await put(backend, 'w1', 0)
      expect(await reserve(backend, request('w1'), request('w1', { gen: 2 }))).toMatchObject({
        answers: ['stale', 'stale'],
      })
      const [answer] = (await reserve(backend, request('w1', { gen: 1, defaultMaxAttempts: 5 }))).answers
      expect(leasesOf(answer ?? [])).toMatchObject([
        { id: 'a', maxAttempts: 5 },
        { id: 'b', maxAttempts: 5 },
      ])
      await backend.configs.raise([{ ...ref('w1'), above: 1_000_000 }])
      expect(await reserve(backend, request('w1', { gen: 1 }))).toMatchObject({ answers: ['stale'] })
      expect((await reserve(backend, request('w1', { gen: 1_000_001 }))).answers.map(leasesOf).map(ids)).toEqual([
        ['c'],
      ])
      await backend.workers.forget([ref('w2')])
      await backend.workers.register([registration('w2', 'm1/5')])
      expect(await reserve(backend, request('w2'))).toMatchObject({ answers: ['stale'] })
    })

    it('gives the tasks of those that are refused to the others of the call', async () => {
      const { backend } = await staffed()
      await backend.workers.drain([ref('w2')])
      const { answers } = await reserve(
        backend,
        request('w2', { limit: 500 }),
        request('w1', { limit: 1 }),
        request('w3', { limit: 500 }),
        request('w1', { gen: 4 }),
        request('w1', { limit: 500 }),
      )
      expect(answers.map((answer) => (typeof answer === 'string' ? answer : ids(answer)))).toEqual([
        'draining',
        ['a'],
        'unknown',
        'stale',
        ['b', 'c'],
      ])
      expect(
        await backend.tasks.ack(
          TYPE,
          answers.flatMap((answer) => (typeof answer === 'string' ? [] : answer)),
        ),
      ).toEqual(['ok', 'ok', 'ok'])
    })

    it('promotes due retries, and says when the next is due, also where nobody may have them', async () => {
      const { backend, clock } = await staffed()
      const leases = leasesOf(sole((await reserve(backend, request('w1', { limit: 3 }))).answers))
      await nack(backend, leases.slice(0, 2), { retryInMs: 1_000 })
      await nack(backend, leases.slice(2), { retryInMs: 9_000 })
      clock.advance(1_000)
      expect(await reserve(backend, request('w3'))).toEqual({
        answers: ['unknown'],
        dropped: 0,
        nextDue: clock.wallMs() + 8_000,
      })
      expect(await pending(backend)).toEqual(['a', 'b'])
    })
  })
}
