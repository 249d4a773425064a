/** Contract of lists: the tasks of one place, page by page, each of them once while nothing moves (D116). */
import { describe, expect, it } from '@jest/globals'
import { MINUTE, SECOND, TYPE, VISIBILITY, killed, nack, reserve, storeFixtures, submit, task } from './fixture.ts'
import type { Create } from './fixture.ts'
import type { Backend, ListedTask, TaskPlace } from '../../../src/storage/index.ts'

/** All pages of a place. */
async function listed(backend: Backend, place: TaskPlace, limit: number, bytes?: number): Promise<ListedTask[]> {
  const rows: ListedTask[] = []
  let after: string | null = null
  do {
    const page = await backend.tasks.list(TYPE, place, after, limit, bytes)
    expect(page.rows.length).toBeLessThanOrEqual(limit)
    rows.push(...page.rows)
    after = page.next
  } while (after !== null)
  return rows
}
const idsIn = async (backend: Backend, place: TaskPlace, limit = 2): Promise<string[]> =>
  (await listed(backend, place, limit)).map(({ id }) => id)
const letters = (n: number): string[] => Array.from({ length: n }, (_, i) => `t${i}`)

export function tasksList(name: string, create: Create): void {
  const fixtureOf = storeFixtures(create)

  describe(`${name}: list`, () => {
    it('shows the pending tasks of all tiers as they will be leased, with their bodies', async () => {
      const { backend } = await fixtureOf()
      const low = letters(3).map((id) => task(`l${id}`, { tier: 2 }))
      await submit(backend, ...low, 'a', 'b', task('h', { tier: 0 }))
      const leases = await reserve(backend, 2)
      await backend.tasks.release(TYPE, leases)
      const expected = ['h', 'a', 'b', 'lt0', 'lt1', 'lt2']
      for (const limit of [1, 2, 5, 500]) expect(await idsIn(backend, 'pending', limit)).toEqual(expected)
      const [first] = await listed(backend, 'pending', 10)
      expect(first).toEqual({ id: 'h', attempt: 0, atMs: null, worker: null, error: null, body: expect.any(String) })
      expect(first?.body).toBe(task('h', { tier: 0 }).body)
    })

    it('shows no cancelled task, and all others', async () => {
      const { backend, clock } = await fixtureOf()
      const all = letters(30)
      await submit(backend, ...all)
      await submit(backend, ...all.map((id) => task(`d${id}`, { notBeforeMs: clock.wallMs() + MINUTE })))
      const gone = all.filter((_, i) => i % 3 === 1)
      await backend.tasks.cancel(TYPE, [...gone, ...gone.map((id) => `d${id}`)], 'admin')
      const left = all.filter((id) => !gone.includes(id))
      for (const limit of [1, 7, 500]) {
        expect(await idsIn(backend, 'pending', limit)).toEqual(left)
        expect((await idsIn(backend, 'scheduled', limit)).toSorted()).toEqual(left.map((id) => `d${id}`).toSorted())
      }
    })

    it('shows the tasks in flight by deadline, with worker and deadline', async () => {
      const { backend, clock } = await fixtureOf()
      await submit(backend, ...letters(5))
      const first = await reserve(backend, 3)
      await reserve(backend, 2, VISIBILITY / 2)
      const rows = await listed(backend, 'in_flight', 2)
      expect(rows.map(({ atMs }) => (atMs ?? 0) - clock.wallMs())).toEqual([
        VISIBILITY / 2,
        VISIBILITY / 2,
        VISIBILITY,
        VISIBILITY,
        VISIBILITY,
      ])
      expect(
        rows
          .slice(2)
          .map(({ id }) => id)
          .toSorted(),
      ).toEqual(first.map(({ id }) => id).toSorted())
      expect(rows[0]).toMatchObject({ worker: 'w1', attempt: 0, error: null, body: expect.stringContaining('payload') })
    })

    it('shows the scheduled tasks by due time, delays and retries', async () => {
      const { backend, clock } = await fixtureOf()
      await submit(backend, 'r')
      await nack(backend, await reserve(backend), { retryInMs: 20 * SECOND })
      const delayed = letters(4).map((id, i) => task(id, { notBeforeMs: clock.wallMs() + (i + 1) * 10 * SECOND }))
      await submit(backend, ...delayed.toReversed())
      const rows = await listed(backend, 'scheduled', 2)
      expect(rows.filter(({ id }) => id !== 'r').map(({ id }) => id)).toEqual(letters(4))
      expect(rows.find(({ id }) => id === 'r')).toMatchObject({ attempt: 1, atMs: clock.wallMs() + 20 * SECOND })
    })

    it('shows the dead tasks in the order of their deaths, those that were not cleared', async () => {
      const { backend, clock } = await fixtureOf()
      await killed(backend, 'old')
      await backend.tasks.clearDead(TYPE)
      for (const id of letters(5)) await killed(backend, id)
      await backend.tasks.applyToDead(TYPE, 'remove', ['t1'])
      expect(await idsIn(backend, 'dead')).toEqual(['t0', 't2', 't3', 't4'])
      const [first] = await listed(backend, 'dead', 10)
      expect(first).toMatchObject({ attempt: 1, atMs: clock.wallMs(), worker: null, error: 'boom' })
    })

    it('ends a page at its bytes, with one task at least', async () => {
      const { backend, clock } = await fixtureOf()
      const big = (id: string) => ({
        tier: 0 as const,
        body: `{"payload":{"x":"${id.repeat(5_000)}"},"priority":1,"submitted_at":1}`,
      })
      const later = { notBeforeMs: clock.wallMs() + MINUTE }
      await killed(backend, ...letters(4).map((id) => task(`k${id}`, big(id))))
      await submit(backend, ...letters(4).map((id) => task(id, big(id))))
      await reserve(backend, 2)
      await submit(backend, ...letters(4).map((id) => task(`d${id}`, { ...later, ...big(id) })))
      for (const place of ['pending', 'in_flight', 'scheduled', 'dead'] as const) {
        const whole = await listed(backend, place, 10)
        expect(whole.length).toBeGreaterThan(1)
        expect((await backend.tasks.list(TYPE, place, null, 10, 100)).rows).toHaveLength(1)
        expect(await listed(backend, place, 10, 100)).toEqual(whole)
        expect(await listed(backend, place, 10, 25_000)).toEqual(whole)
      }
    })

    it('accepts every pair of numbers as a cursor, because it comes from a client', async () => {
      const { backend } = await fixtureOf()
      await submit(backend, 'a')
      for (const after of ['3:0', '-1:0', '1:-5', '999999999999999:999999999999999', '0:999999999999999']) {
        for (const place of ['pending', 'in_flight', 'scheduled', 'dead'] as const)
          expect((await backend.tasks.list(TYPE, place, after, 10)).rows.length).toBeLessThanOrEqual(1)
      }
    })

    it('shows nothing of an unknown type, and rejects what is no cursor', async () => {
      const { backend } = await fixtureOf()
      for (const place of ['pending', 'in_flight', 'scheduled', 'dead'] as const)
        expect(await listed(backend, place, 10)).toEqual([])
      await expect(async () => backend.tasks.list(TYPE, 'pending', 'x', 10)).rejects.toThrow(TypeError)
      await expect(async () => backend.tasks.list(TYPE, 'pending', null, 501)).rejects.toThrow(TypeError)
    })
  })
}
