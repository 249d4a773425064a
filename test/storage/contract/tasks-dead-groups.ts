/** Contract of the groups of dead tasks: what they say, and how tasks are replayed and removed by group (D157). */
import { describe, expect, it } from '@jest/globals'
import {
  HOSTILE,
  MINUTE,
  SECOND,
  TYPE,
  VISIBILITY,
  dead,
  ids,
  inFlight,
  killed,
  nack,
  pending,
  refOf,
  reopen,
  reserve,
  sole,
  storeFixtures,
  submit,
  task,
} from './fixture.ts'
import type { Create, StoreFixture } from './fixture.ts'
import { errorGroup, OTHER_GROUP, MAX_DEAD_GROUPS, TREND_INTERVAL_MS } from '../../../src/storage/index.ts'
import type { Backend, NewTask } from '../../../src/storage/index.ts'

const FAR = 9_000_000_000_000
const own = (id: string, more: Partial<NewTask> = {}): NewTask => task(id, { ownId: true, ...more })

/** Lets tasks die of an error, in this order. */
async function died(backend: Backend, error: string, ...tasks: readonly (string | NewTask)[]): Promise<void> {
  const leases = await inFlight(backend, ...tasks)
  expect(await nack(backend, leases, { error, permanent: true })).toEqual(leases.map(() => 'dead'))
}

const counted = async (backend: Backend): Promise<readonly (readonly [string, number])[]> =>
  (await backend.tasks.deadGroups(TYPE)).map(({ example: { lastError }, count }) => [lastError, count])

/** Reads all pages. */
async function newest(backend: Backend, group: string | null, n = 2): Promise<string[]> {
  const found: string[] = []
  let before: string | null = null
  do {
    const page = await backend.tasks.newestDead(TYPE, group, before, n)
    expect(page.items.length).toBeLessThanOrEqual(n)
    found.push(...ids(page.items))
    before = page.next
  } while (before !== null)
  return found
}

export function tasksDeadGroups(name: string, create: Create): void {
  const open: () => Promise<StoreFixture> = storeFixtures(create)

  describe(`${name} backend: groups of dead tasks`, () => {
    it('have the tasks of one pattern, newest death first', async () => {
      const { backend, clock } = await open()
      await died(backend, 'bad magic 0x1a at byte 7', 'a')
      const first = clock.wallMs()
      clock.advance(SECOND)
      await died(backend, 'HTTP 503', 'b')
      clock.advance(SECOND)
      await died(backend, 'bad magic 0x2b at byte 38', 'c', 'd')
      expect(await backend.tasks.deadGroups(TYPE)).toEqual([
        {
          group: errorGroup('bad magic 0x1a at byte 7'),
          count: 3,
          firstDiedAtMs: first,
          lastDiedAtMs: first + 2 * SECOND,
          trend: [...Array<number>(11).fill(0), 3],
          workers: ['w1'],
          example: { id: 'd', lastError: 'bad magic 0x2b at byte 38' },
        },
        {
          group: errorGroup('HTTP 503'),
          count: 1,
          firstDiedAtMs: first + SECOND,
          lastDiedAtMs: first + SECOND,
          trend: [...Array<number>(11).fill(0), 1],
          workers: ['w1'],
          example: { id: 'b', lastError: 'HTTP 503' },
        },
      ])
      expect(await backend.tasks.deadGroups('other')).toEqual([])
      expect(await newest(backend, null)).toEqual(['d', 'c', 'b', 'a'])
      expect(await newest(backend, errorGroup('bad magic 0x1a at byte 7'))).toEqual(['d', 'c', 'a'])
      expect(await newest(backend, OTHER_GROUP)).toEqual([])
      expect(await backend.tasks.groupDead(TYPE, 500)).toBe(false)
    })

    it('count the deaths of the last hour in intervals of five minutes', async () => {
      const { backend, clock } = await open()
      clock.advance(TREND_INTERVAL_MS - (clock.wallMs() % TREND_INTERVAL_MS))
      await died(backend, 'boom', 'a', 'b')
      clock.advance(TREND_INTERVAL_MS)
      await died(backend, 'boom', 'c')
      const zeros = (n: number): number[] => Array<number>(n).fill(0)
      const trend = async (): Promise<unknown> => sole(await backend.tasks.deadGroups(TYPE)).trend
      expect(await trend()).toEqual([...zeros(10), 2, 1])
      clock.advance(10 * TREND_INTERVAL_MS)
      expect(await trend()).toEqual([2, 1, ...zeros(10)])
      await backend.tasks.applyToDead(TYPE, 'remove', ['a'])
      expect(await trend()).toEqual([1, 1, ...zeros(10)])
      clock.advance(TREND_INTERVAL_MS)
      expect(await trend()).toEqual([1, ...zeros(11)])
    })

    it('name the workers of the newest deaths, at most three', async () => {
      const { backend } = await open()
      for (const [i, worker] of ['w1', 'w2', HOSTILE[0] ?? '', 'w4', 'w4'].entries()) {
        await submit(backend, `t${i}`)
        await backend.workers.register([
          { type: TYPE, id: worker, conn: 'm1/0', instance: '', hardware: '{}', defaults: '{}' },
        ])
        const gen = sole(await backend.configs.get([{ type: TYPE, id: worker }]))?.gen ?? 0
        const request = { worker, limit: 1, gen, defaultMaxAttempts: 3 }
        const { results } = await backend.tasks.reserve(TYPE, VISIBILITY, [request])
        const reserved = sole(results)
        await nack(backend, reserved.kind === 'leased' ? reserved.leases : [], { permanent: true })
      }
      expect(sole(await backend.tasks.deadGroups(TYPE)).workers).toEqual(['w4', HOSTILE[0], 'w2'])
    })

    it('have tasks that lost their leases too often', async () => {
      const { backend, clock } = await open()
      await inFlight(backend, 'a')
      clock.advance(VISIBILITY)
      expect(await backend.tasks.sweep(TYPE, 1, 500)).toMatchObject({ dead: 1 })
      expect(sole(await backend.tasks.deadGroups(TYPE))).toMatchObject({
        group: errorGroup('lease lost 7 times'),
        count: 1,
        workers: ['w1'],
        example: { id: 'a', lastError: 'lease lost 1 times' },
      })
    })

    it('lose tasks that are replayed, removed or cleared, and get those that die again', async () => {
      const { backend } = await open()
      await died(backend, 'one 1', 'a', 'b', 'c', 'd')
      await died(backend, 'two', 'e')
      await backend.tasks.replay(TYPE, 1)
      await backend.tasks.applyToDead(TYPE, 'replay', ['b', 'e'])
      await backend.tasks.applyToDead(TYPE, 'remove', ['c', 'a'])
      expect(await counted(backend)).toEqual([['one 1', 1]])
      const leases = await reserve(backend)
      expect(ids(leases)).toEqual(['a', 'b', 'e'])
      await nack(backend, leases, { error: 'three', permanent: true })
      expect(await counted(backend)).toEqual([
        ['three', 3],
        ['one 1', 1],
      ])
      expect(await backend.tasks.clearDead(TYPE)).toBe(4)
      expect(await backend.tasks.deadGroups(TYPE)).toEqual([])
      expect(await newest(backend, errorGroup('three'))).toEqual([])
      await died(backend, 'one 2', own('a'))
      expect(await counted(backend)).toEqual([['one 2', 1]])
      expect(await newest(backend, errorGroup('one 1'))).toEqual(['a'])
      expect(await backend.tasks.groupDead(TYPE, 500)).toBe(false)
    })

    it('are bounded in number: the tasks of further patterns are in one group', async () => {
      const { backend } = await open()
      const letters = (i: number): string => String.fromCodePoint(0x4e00 + i)
      const tasks = Array.from({ length: MAX_DEAD_GROUPS + 3 }, (_, i) => own(`t${i}`))
      const leases = await inFlight(backend, ...tasks)
      const items = leases.map((lease, i) => ({
        ...refOf(lease),
        error: `error ${letters(i)}`,
        retryInMs: null,
        permanent: true,
        jitter: 0,
      }))
      await backend.tasks.nack(TYPE, { baseMs: 0, capMs: 0, factor: 1 }, items)
      const groups = await backend.tasks.deadGroups(TYPE)
      expect(groups).toHaveLength(MAX_DEAD_GROUPS + 1)
      expect(groups[0]).toMatchObject({ group: OTHER_GROUP, count: 3 })
      expect(await newest(backend, OTHER_GROUP)).toEqual([2, 1, 0].map((i) => `t${MAX_DEAD_GROUPS + i}`))
      await backend.tasks.applyToDead(TYPE, 'remove', ['t0'])
      await died(backend, `error ${letters(0)}`, own('t0'))
      await died(backend, `error ${letters(7)}`, own('again'))
      await died(backend, 'one too many', own('last'))
      const counts = new Map((await backend.tasks.deadGroups(TYPE)).map(({ group, count }) => [group, count]))
      expect(counts.get(errorGroup(`error ${letters(0)}`))).toBe(1)
      expect(counts.get(errorGroup(`error ${letters(7)}`))).toBe(2)
      expect(counts.get(OTHER_GROUP)).toBe(4)
      expect(counts.size).toBe(MAX_DEAD_GROUPS + 1)
    })

    it('are kept across a restart, if the store is durable', async () => {
      const { backend } = await open()
      await died(backend, 'one 1', 'a', 'b')
      await died(backend, 'two', 'c')
      const before = await backend.tasks.deadGroups(TYPE)
      await reopen(backend)
      expect(await backend.tasks.deadGroups(TYPE)).toEqual(backend.capabilities.durable ? before : [])
    })

    it('carry hostile ids and errors', async () => {
      const { backend } = await open()
      for (const [i, text] of HOSTILE.entries()) await died(backend, text, own(text, { body: task(`${i}`).body }))
      const groups = await backend.tasks.deadGroups(TYPE)
      expect(groups.map(({ example }) => example.lastError)).toEqual(
        [...new Map(HOSTILE.map((text) => [errorGroup(text), text])).values()].toReversed(),
      )
      expect(await newest(backend, null)).toEqual(HOSTILE.toReversed())
      for (const { group, count } of groups)
        expect(await backend.tasks.applyToDeadGroup(TYPE, { group, action: 'remove', diedBeforeMs: FAR, n: 500 })).toBe(
          count,
        )
      expect(await dead(backend)).toEqual([])
    })

    it('list pages that end early at bytes', async () => {
      const { backend } = await open()
      await killed(backend, 'a', 'b', 'c')
      const group = errorGroup('boom')
      for (const each of [null, group]) {
        const page = await backend.tasks.newestDead(TYPE, each, null, 500, 1)
        expect(ids(page.items)).toEqual(['c'])
        const rest = await backend.tasks.newestDead(TYPE, each, page.next, 2)
        expect(ids(rest.items)).toEqual(['b', 'a'])
        expect(rest.next).toBeNull()
      }
      expect((await backend.tasks.newestDead(TYPE, group, null, 1)).items).toEqual(
        (await backend.tasks.dead(TYPE, 500)).items.slice(-1),
      )
    })
  })

  describe(`${name} backend: replay and removal of a group`, () => {
    it('act on the tasks that died before the moment, oldest first', async () => {
      const { backend, clock } = await open()
      await died(backend, 'one 1', 'a')
      await died(backend, 'two', 'b')
      await died(backend, 'one 2', 'c')
      clock.advance(SECOND)
      const moment = clock.wallMs()
      await died(backend, 'one 3', 'd')
      const group = errorGroup('one 1')
      expect(await backend.tasks.applyToDeadGroup(TYPE, { group, action: 'replay', diedBeforeMs: moment, n: 1 })).toBe(
        1,
      )
      expect(await pending(backend)).toEqual(['a'])
      expect(
        await backend.tasks.applyToDeadGroup(TYPE, { group, action: 'replay', diedBeforeMs: moment, n: 500 }),
      ).toBe(1)
      expect(
        await backend.tasks.applyToDeadGroup(TYPE, { group, action: 'replay', diedBeforeMs: moment, n: 500 }),
      ).toBe(0)
      expect(await pending(backend)).toEqual(['a', 'c'])
      expect(await dead(backend)).toEqual(['b', 'd'])
      expect(
        await backend.tasks.applyToDeadGroup(TYPE, { group, action: 'remove', diedBeforeMs: moment + 1, n: 500 }),
      ).toBe(1)
      expect(
        await backend.tasks.applyToDeadGroup('other', { group, action: 'remove', diedBeforeMs: FAR, n: 500 }),
      ).toBe(0)
      expect(await counted(backend)).toEqual([['two', 1]])
      expect(await backend.tasks.locate(TYPE, ['d'])).toEqual([null])
    })

    it('spread a paced replay over time, in the tiers of the tasks, with their ttl from then on', async () => {
      const { backend, clock } = await open()
      await died(backend, 'boom', own('low', { tier: 2, ttlMs: MINUTE }), own('high', { tier: 0 }))
      const pace = { delayMs: 500, intervalMs: 1_000 / 3 }
      const done = await backend.tasks.applyToDeadGroup(TYPE, {
        group: errorGroup('boom'),
        action: 'replay',
        diedBeforeMs: FAR,
        n: 500,
        pace,
      })
      expect(done).toBe(2)
      const { rows } = await backend.tasks.list(TYPE, 'scheduled', null, 10)
      const nowMs = clock.wallMs()
      expect(rows).toMatchObject([
        { id: 'high', attempt: 0, atMs: nowMs + 500 },
        { id: 'low', attempt: 0, atMs: nowMs + 833 },
      ])
      expect(sole(await backend.tasks.counts([TYPE]))).toMatchObject({ dead: 0, scheduled: 2 })
      clock.advance(833 + MINUTE - 1)
      expect(ids(await reserve(backend))).toEqual(['high', 'low'])
    })

    it('schedule tasks that a cancel finds, and that die again', async () => {
      const { backend, clock } = await open()
      await died(backend, 'boom', own('a'), own('b'))
      const pace = { delayMs: 0, intervalMs: SECOND }
      await backend.tasks.applyToDeadGroup(TYPE, {
        group: errorGroup('boom'),
        action: 'replay',
        diedBeforeMs: FAR,
        n: 500,
        pace,
      })
      expect(await backend.tasks.locate(TYPE, ['a', 'b'])).toEqual(['scheduled', 'scheduled'])
      await backend.tasks.cancel(TYPE, ['b'], 'ada')
      clock.advance(MINUTE)
      const leases = await reserve(backend)
      expect(ids(leases)).toEqual(['a'])
      await nack(backend, leases, { permanent: true })
      expect(await counted(backend)).toEqual([['boom', 1]])
    })
  })

  describe(`${name} backend: edit and replay of a dead task`, () => {
    it('replaces the body in the step of the replay', async () => {
      const { backend, clock } = await open()
      await died(backend, 'boom', own('a'), own('b'))
      const diedAtMs = clock.wallMs()
      const row = await backend.tasks.deadTask(TYPE, 'a')
      expect(row).toEqual((await backend.tasks.dead(TYPE, 1)).items[0])
      expect(await backend.tasks.deadTask(TYPE, 'none')).toBeNull()
      const large = 'x'.repeat(10_000)
      const body = `{"payload":{"of":"${large}"},"priority":0,"submitted_at":1}`
      expect(await backend.tasks.replayEdited(TYPE, 'a', diedAtMs - 1, body)).toBe(false)
      expect(await backend.tasks.replayEdited(TYPE, 'none', diedAtMs, body)).toBe(false)
      expect(await backend.tasks.replayEdited(TYPE, 'a', diedAtMs, body)).toBe(true)
      expect(await backend.tasks.replayEdited(TYPE, 'a', diedAtMs, body)).toBe(false)
      expect(await counted(backend)).toEqual([['boom', 1]])
      const lease = sole(await reserve(backend))
      expect(lease).toMatchObject({ id: 'a', attempt: 0, body })
      expect(await backend.tasks.ack(TYPE, [refOf(lease)])).toEqual(['ok'])
    })
  })
}
