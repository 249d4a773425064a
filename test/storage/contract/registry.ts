/** Contract of the worker registry: register, beat, disconnect, forget and page. Drains are in drains.ts. */
import { describe, expect, it } from '@jest/globals'
import {
  DEFAULTS,
  HARDWARE,
  HOSTILE,
  HOUR,
  SECOND,
  TYPE,
  conn,
  ids,
  ref,
  registration,
  reopen,
  sole,
  storeFixtures,
} from './fixture.ts'
import type { Create } from './fixture.ts'
import type { Backend, WorkerReport, WorkerRow } from '../../../src/storage/index.ts'

const beat = (id: string, name: string, more: Partial<WorkerReport> = {}): WorkerReport => ({
  ...conn(id, name),
  ...more,
})
const state = (
  value: 'IDLE' | 'RUNNING' | 'ERROR',
  gen = 0,
  lastError: string | null = null,
): NonNullable<WorkerReport['state']> => ({ state: value, gen, lastError })
/** The state of a worker that has not reported yet. */
const NEW = { state: 'IDLE', lastError: null, appliedGen: null }
const row = async (backend: Backend, id: string): Promise<WorkerRow | null> =>
  sole(await backend.workers.get([ref(id)]))

/** The labels of each worker, which `get` and `page` return alike. */
async function labelsOf(backend: Backend): Promise<Record<string, string | null>> {
  const rows = await backend.workers.page(TYPE, null, 10)
  expect(await backend.workers.get(rows.map(({ id }) => ref(id)))).toEqual(rows)
  return Object.fromEntries(rows.map(({ id, labels }) => [id, labels]))
}

export function registry(name: string, create: Create): void {
  describe(`${name} backend: workers.register`, () => {
    const open = storeFixtures(create)

    it('creates a record with the default config, state IDLE and generation 0 (D3, D4)', async () => {
      const { backend, clock } = await open()
      await backend.meta.beat('m1')
      expect(await backend.workers.register([registration('w1', 'm1/1')])).toEqual([
        { kind: 'registered', previous: null, drain: false, replaced: null, gen: 0 },
      ])
      const now = clock.wallMs()
      expect(await row(backend, 'w1')).toEqual({
        type: TYPE,
        id: 'w1',
        conn: 'm1/1',
        connected: true,
        ended: false,
        registeredAtMs: now,
        hardware: HARDWARE,
        labels: null,
        state: 'IDLE',
        stateSinceMs: now,
        lastSeenAtMs: now,
        lastError: null,
        draining: false,
        managedBy: null,
        configRevision: null,
        appliedGen: null,
        config: { gen: 0, config: DEFAULTS, changedAtMs: null, actor: null },
        stats: null,
      })
    })

    it('updates hardware and connection, keeps state and config, returns the old connection (D3, D11)', async () => {
      const { backend, clock } = await open()
      await backend.workers.register([registration('w1', 'm1/1')])
      await backend.workers.beat([beat('w1', 'm1/1', { state: state('RUNNING', 0, 'odd'), stats: ['{"ts":1}'] })])
      await backend.configs.put({
        ...ref('w1'),
        expectGen: 0,
        config: '{"slots":2}',
        changed: ['slots'],
        actor: 'admin',
      })
      const registeredAt = clock.wallMs()
      clock.advance(SECOND)
      const results = await backend.workers.register([
        registration('w1', 'm1/2', { hardware: '{"cores":8}', defaults: '{"slots":9}' }),
      ])
      expect(results).toEqual([
        {
          kind: 'registered',
          previous: { state: 'RUNNING', lastError: 'odd', appliedGen: 0 },
          drain: false,
          replaced: 'm1/1',
          gen: 1,
        },
      ])
      expect(await row(backend, 'w1')).toMatchObject({
        conn: 'm1/2',
        registeredAtMs: registeredAt,
        hardware: '{"cores":8}',
        state: 'RUNNING',
        lastError: 'odd',
        lastSeenAtMs: clock.wallMs(),
        stateSinceMs: clock.wallMs(),
        stats: '{"ts":1}',
        config: { gen: 1, config: '{"slots":2}', actor: 'admin' },
      })
    })

    it('says whether another process registers than the last one, by its instance (D138)', async () => {
      const { backend } = await open()
      const restarts = async (at: string, instance: string) => {
        const [result] = await backend.workers.register([registration('w1', at, { instance })])
        return result?.kind === 'registered' && result.isRestart
      }
      expect(await restarts('m1/1', 'a:%')).toBeUndefined()
      expect(await restarts('m1/2', 'a:%')).toBeUndefined()
      expect(await restarts('m1/3', 'b')).toBe(true)
      expect(await restarts('m1/3', 'b')).toBeUndefined()
      expect(await restarts('m1/4', '')).toBeUndefined()
      expect(await restarts('m1/5', 'b')).toBe(true)
      const both = await backend.workers.register([
        registration('w2', 'm1/6', { instance: 'a' }),
        registration('w2', 'm1/7', { instance: 'b' }),
      ])
      expect(both).toMatchObject([{ previous: null }, { isRestart: true }])
    })

    it('keeps the labels of the newest register alone, as they were sent (D136)', async () => {
      const { backend } = await open()
      const labels = '{"zone":"eu-1","empty":""}'
      await backend.workers.register([registration('w1', 'm1/1', { labels }), registration('w2', 'm1/2')])
      const both = { w1: labels, w2: null as string | null }
      expect(await labelsOf(backend)).toEqual(both)
      await backend.workers.register([registration('w2', 'm1/3', { labels: '{"zone":"us-1"}' })])
      expect(await labelsOf(backend)).toEqual({ ...both, w2: '{"zone":"us-1"}' })
      await backend.workers.register([registration('w1', 'm1/4')])
      expect(await labelsOf(backend)).toEqual({ w1: null, w2: '{"zone":"us-1"}' })
    })

    it('keeps no labels of a worker that was forgotten (D136)', async () => {
      const { backend } = await open()
      await backend.workers.register([registration('w1', 'm1/1', { labels: '{"zone":"eu-1"}' })])
      await backend.workers.forget([ref('w1')])
      await backend.workers.register([registration('w1', 'm1/2')])
      expect(await labelsOf(backend)).toEqual({ w1: null })
    })

    it('keeps whether the last process ended in an orderly way, until the next register (D142)', async () => {
      const { backend, clock } = await open()
      const ended = async () => (await row(backend, 'w1'))?.ended
      await backend.workers.register([registration('w1', 'm1/1')])
      await backend.workers.disconnect([{ ...conn('w1', 'm1/0'), ended: true }])
      expect(await ended()).toBe(false)
      await backend.workers.disconnect([{ ...conn('w1', 'm1/1'), ended: true }])
      expect(await ended()).toBe(true)
      clock.advance(SECOND)
      await backend.workers.drain([ref('w1')])
      await backend.workers.disconnect([conn('w1', 'm1/1')])
      await backend.workers.beat([beat('w1', 'm1/1', { state: state('IDLE') })])
      expect(await row(backend, 'w1')).toMatchObject({ ended: true, lastSeenAtMs: clock.wallMs() - SECOND })
      await backend.workers.register([registration('w1', 'm1/2')])
      expect(await ended()).toBe(false)
      await backend.workers.disconnect([conn('w1', 'm1/2')])
      expect(await ended()).toBe(false)
      for (const [via, isOrderly] of [
        ['m1/3', true],
        ['m1/4', false],
      ] as const) {
        await backend.workers.register([registration('w1', via)]) // Within the same millisecond.
        await backend.workers.disconnect([{ ...conn('w1', via), ended: isOrderly }])
        expect(await ended()).toBe(isOrderly)
      }
    })

    it('replaces no connection after a disconnect', async () => {
      const { backend } = await open()
      await backend.workers.register([registration('w1', 'm1/1')])
      await backend.workers.disconnect([conn('w1', 'm1/1')])
      expect(await backend.workers.register([registration('w1', 'm1/2')])).toEqual([
        { kind: 'registered', previous: NEW, drain: false, replaced: null, gen: 0 },
      ])
    })

    it('processes a batch in order', async () => {
      const { backend } = await open()
      expect(
        await backend.workers.register([
          registration('w1', 'm1/1'),
          registration('w2', 'm1/2'),
          registration('w1', 'm1/3'),
        ]),
      ).toEqual([
        { kind: 'registered', previous: null, drain: false, replaced: null, gen: 0 },
        { kind: 'registered', previous: null, drain: false, replaced: null, gen: 0 },
        { kind: 'registered', previous: NEW, drain: false, replaced: 'm1/1', gen: 0 },
      ])
    })

    it('accepts any text as type and id', async () => {
      const { backend } = await open()
      const names = HOSTILE.map((id) => ({ type: id, id }))
      await backend.workers.register(names.map((of) => ({ ...registration('', 'm1/1'), ...of })))
      const rows = await backend.workers.get(names)
      expect(rows.map((each) => (each === null ? null : { type: each.type, id: each.id }))).toEqual(names)
      expect(await backend.workers.forget(names)).toEqual(HOSTILE.map(() => true))
    })
  })

  describe(`${name} backend: workers.beat`, () => {
    const open = storeFixtures(create)

    it('stores the state frame and when the state last changed (D47)', async () => {
      const { backend, clock } = await open()
      await backend.workers.register([registration('w1', 'm1/1')])
      clock.advance(SECOND)
      expect(await backend.workers.beat([beat('w1', 'm1/1', { state: state('RUNNING', 3) })])).toEqual([
        { status: 'ok', gen: 0 },
      ])
      const changed = clock.wallMs()
      clock.advance(SECOND)
      await backend.workers.beat([beat('w1', 'm1/1', { state: state('RUNNING', 4, 'x') })])
      expect(await row(backend, 'w1')).toMatchObject({
        state: 'RUNNING',
        stateSinceMs: changed,
        lastSeenAtMs: clock.wallMs(),
        appliedGen: 4,
        lastError: 'x',
      })
      await backend.workers.beat([beat('w1', 'm1/1', { state: state('ERROR', 4, null) })])
      expect(await row(backend, 'w1')).toMatchObject({ state: 'ERROR', stateSinceMs: clock.wallMs(), lastError: null })
    })

    it('updates only lastSeenAtMs for any other frame', async () => {
      const { backend, clock } = await open()
      await backend.workers.register([registration('w1', 'm1/1')])
      const before = await row(backend, 'w1')
      clock.advance(SECOND)
      await backend.workers.beat([beat('w1', 'm1/1')])
      expect(await row(backend, 'w1')).toEqual({ ...before, lastSeenAtMs: clock.wallMs() })
    })

    it('returns the stored generation, so that a missed change is noticed', async () => {
      const { backend } = await open()
      await backend.workers.register([registration('w1', 'm1/1')])
      await backend.configs.put({ ...ref('w1'), expectGen: 0, config: '{}', changed: [], actor: 'admin' })
      expect(await backend.workers.beat([beat('w1', 'm1/1')])).toEqual([{ status: 'ok', gen: 1 }])
    })

    it('rejects a replaced, a closed and an unknown connection, and writes nothing for them', async () => {
      const { backend, clock } = await open()
      await backend.workers.register([
        registration('w1', 'm1/1'),
        registration('w1', 'm1/2'),
        registration('w2', 'm1/3'),
      ])
      await backend.workers.disconnect([conn('w2', 'm1/3')])
      const before = await backend.workers.get([ref('w1'), ref('w2')])
      clock.advance(SECOND)
      const more = { state: state('ERROR', 9, 'late'), stats: ['{"ts":1}'] }
      const results = await backend.workers.beat([
        beat('w1', 'm1/1', more),
        beat('w2', 'm1/3', more),
        beat('unknown', 'm1/1', more),
      ])
      expect(results.map(({ status: was }) => was)).toEqual(['replaced', 'replaced', 'unknown'])
      expect(await backend.workers.get([ref('w1'), ref('w2')])).toEqual(before)
      expect(await backend.stats.read(ref('w1'), 0, 10)).toEqual({ kind: 'frames', frames: [] })
    })

    it('returns unknown for a forgotten worker and creates no record', async () => {
      const { backend } = await open()
      await backend.workers.register([registration('w1', 'm1/1')])
      await backend.workers.forget([ref('w1')])
      expect(
        (await backend.workers.beat([beat('w1', 'm1/1', { state: state('RUNNING') })])).map(({ status: was }) => was),
      ).toEqual(['unknown'])
      expect(await row(backend, 'w1')).toBe(null)
    })

    it('truncates an error text to 4,096 characters', async () => {
      const { backend } = await open()
      await backend.workers.register([registration('w1', 'm1/1')])
      await backend.workers.beat([beat('w1', 'm1/1', { state: state('ERROR', 0, 'x'.repeat(5_000)) })])
      expect((await row(backend, 'w1'))?.lastError).toBe('x'.repeat(4_096))
    })
  })

  describe(`${name} backend: workers, connected and disconnected`, () => {
    const open = storeFixtures(create)

    it('clears only the given connection, not a newer one', async () => {
      const { backend, clock } = await open()
      await backend.meta.beat('m1')
      await backend.workers.register([registration('w1', 'm1/1'), registration('w1', 'm1/2')])
      const seen = clock.wallMs()
      clock.advance(SECOND)
      await backend.workers.disconnect([conn('w1', 'm1/1'), conn('unknown', 'm1/1')])
      expect(await row(backend, 'w1')).toMatchObject({ conn: 'm1/2', connected: true, stateSinceMs: seen })
      await backend.workers.disconnect([conn('w1', 'm1/2')])
      expect(await row(backend, 'w1')).toMatchObject({
        conn: null,
        connected: false,
        stateSinceMs: clock.wallMs(),
        lastSeenAtMs: seen,
      })
    })

    it('counts a worker as connected while its master is alive', async () => {
      const { backend, clock } = await open()
      expect(await backend.meta.beat('m1')).toEqual(['m1'])
      await backend.workers.register([registration('w1', 'm1/1')])
      clock.advance(14 * SECOND)
      expect(await row(backend, 'w1')).toMatchObject({ connected: true })
      clock.advance(SECOND)
      expect(await row(backend, 'w1')).toMatchObject({ connected: false, conn: 'm1/1' })
      await backend.meta.beat('m1')
      expect(await row(backend, 'w1')).toMatchObject({ connected: true })
    })

    it('uses the part of a connection before its last slash as the name of its master', async () => {
      const { backend } = await open()
      await backend.meta.beat('a/b')
      await backend.workers.register([registration('w1', 'a/b/1'), registration('w2', 'a/1')])
      expect((await backend.workers.get([ref('w1'), ref('w2')])).map((each) => each?.connected)).toEqual([true, false])
    })

    it('returns what each live master declared, and null for one that declared nothing', async () => {
      const { backend, clock } = await open()
      expect(await backend.meta.declare('m1', 'without a heartbeat')).toEqual([])
      await backend.meta.beat('m1')
      expect(await backend.meta.declare('m1', '{"version":"1"}')).toEqual(['{"version":"1"}'])
      clock.advance(10 * SECOND)
      await backend.meta.beat('m2')
      await backend.meta.beat('m3')
      expect(new Set(await backend.meta.declare('m2', '{"version":"2"}'))).toEqual(
        new Set(['{"version":"1"}', '{"version":"2"}', null]),
      )
      clock.advance(6 * SECOND)
      expect(new Set(await backend.meta.declare('m2', '{"version":"2"}'))).toEqual(new Set(['{"version":"2"}', null]))
    })

    it('returns the masters seen within 15 seconds', async () => {
      const { backend, clock } = await open()
      await backend.meta.beat('m1')
      clock.advance(10 * SECOND)
      expect([...(await backend.meta.beat('m2'))].toSorted()).toEqual(['m1', 'm2'])
      clock.advance(5 * SECOND)
      expect(await backend.meta.beat('m2')).toEqual(['m2'])
    })
  })

  describe(`${name} backend: workers.manage, forget and page`, () => {
    const open = storeFixtures(create)

    it('stores the manager of a worker (D31)', async () => {
      const { backend } = await open()
      await backend.workers.register([registration('w1', 'm1/1')])
      expect(
        await backend.workers.manage([
          { ...ref('w1'), managedBy: 'kubernetes:ns/a' },
          { ...ref('unknown'), managedBy: 'x' },
        ]),
      ).toEqual(['ok', 'not_found'])
      expect(await row(backend, 'w1')).toMatchObject({ managedBy: 'kubernetes:ns/a', config: { gen: 0 } })
      await backend.workers.register([registration('w1', 'm1/2')])
      expect(await row(backend, 'w1')).toMatchObject({ managedBy: 'kubernetes:ns/a' })
      await backend.workers.manage([
        { ...ref('w1'), managedBy: null },
        { ...ref('w1'), managedBy: null },
      ])
      expect(await row(backend, 'w1')).toMatchObject({ managedBy: null })
    })

    it('forgets everything but the generation, and registers a returning worker above it (D46)', async () => {
      const { backend } = await open()
      await backend.workers.register([registration('w1', 'm1/1'), registration('w2', 'm1/2')])
      await backend.workers.beat([beat('w1', 'm1/1', { stats: ['{"ts":1}'] })])
      await backend.workers.manage([{ ...ref('w1'), managedBy: 'x' }])
      for (let gen = 0; gen < 3; gen += 1)
        await backend.configs.put({
          ...ref('w1'),
          expectGen: gen,
          config: `{"slots":${gen}}`,
          changed: ['slots'],
          actor: 'admin',
        })
      expect(await backend.workers.forget([ref('w1'), ref('unknown'), ref('w1')])).toEqual([true, false, false])
      expect(await backend.workers.get([ref('w1')])).toEqual([null])
      expect(await backend.configs.get([ref('w1')])).toEqual([null])
      expect(await backend.stats.read(ref('w1'), 0, 10)).toEqual({ kind: 'not_found' })
      expect(await backend.workers.register([registration('w1', 'm1/3')])).toEqual([
        { kind: 'registered', previous: null, drain: false, replaced: null, gen: 4 },
      ])
      expect(await row(backend, 'w1')).toMatchObject({
        state: 'IDLE',
        managedBy: null,
        stats: null,
        appliedGen: null,
        config: { gen: 4, config: DEFAULTS, changedAtMs: null, actor: null },
      })
      expect(await backend.configs.history(ref('w1'), 10)).toEqual([])
      expect(await backend.stats.read(ref('w1'), 0, 10)).toEqual({ kind: 'frames', frames: [] })
      await backend.workers.forget([ref('w1')])
      expect(await backend.workers.register([registration('w1', 'm1/4')])).toMatchObject([{ previous: null, gen: 5 }])
    })

    it('pages in the byte order of the id, each worker once (D40)', async () => {
      const { backend } = await open()
      const inOrder = ['', '!', 'A', 'a', 'a b', 'b', 'ä', '\uffee', '🦊'].filter((id) => id !== '')
      await backend.workers.register(inOrder.toReversed().map((id, i) => registration(id, `m1/${i}`)))
      await backend.workers.register([{ ...registration('c', 'm1/99'), type: 'other' }])
      const got: string[] = []
      for (let after: string | null = null; ;) {
        const page: readonly WorkerRow[] = await backend.workers.page(TYPE, after, 3)
        got.push(...ids(page))
        if (page.length < 3) break
        after = page.at(-1)?.id ?? null
      }
      expect(got).toEqual(inOrder)
      expect(ids(await backend.workers.page(TYPE, 'aa', 2))).toEqual(['b', 'ä'])
      await backend.workers.forget([ref('a'), ref('🦊')])
      expect(ids(await backend.workers.page(TYPE, 'A', 100))).toEqual(['a b', 'b', 'ä', '\uffee'])
      expect(await backend.workers.page('unknown', null, 10)).toEqual([])
      expect((await backend.workers.page(TYPE, null, 1))[0]).toEqual(await row(backend, '!'))
    })

    it('ends a page at 32 MiB, after at least one row, and continues behind it (D56)', async () => {
      const { backend } = await open()
      const hardware = (mib: number): string => `{"x":"${'x'.repeat(mib * 1_048_576)}"}`
      for (const [id, mib] of [
        ['a', 9],
        ['b', 9],
        ['c', 9],
        ['d', 9],
        ['e', 33],
        ['f', 1],
      ] as const)
        await backend.workers.register([registration(id, `m1/${id}`, { hardware: hardware(mib) })])
      expect(ids(await backend.workers.page(TYPE, null, 1_000))).toEqual(['a', 'b', 'c'])
      expect(ids(await backend.workers.page(TYPE, null, 2))).toEqual(['a', 'b'])
      expect(ids(await backend.workers.page(TYPE, 'c', 1_000))).toEqual(['d'])
      expect(ids(await backend.workers.page(TYPE, 'd', 1_000))).toEqual(['e'])
      expect(ids(await backend.workers.page(TYPE, 'e', 1_000))).toEqual(['f'])
      expect(await backend.workers.page(TYPE, 'f', 1_000)).toEqual([])
    }, 30_000)

    it('keeps the registry and the generations of forgotten workers if and only if it is durable', async () => {
      const { backend, clock } = await open()
      await backend.workers.register([registration('w1', 'm1/1', { instance: 'i1' }), registration('w2', 'm1/2')])
      await backend.workers.beat([
        beat('w1', 'm1/1', { state: state('RUNNING', 1, 'x'), stats: ['{"ts":1}', '{"ts":2}'] }),
      ])
      await backend.configs.put({
        ...ref('w1'),
        expectGen: 0,
        config: '{"slots":2}',
        changed: ['slots'],
        actor: 'admin',
      })
      await backend.configs.put({
        ...ref('w2'),
        expectGen: 0,
        config: '{"slots":2}',
        changed: ['slots'],
        actor: 'admin',
      })
      await backend.workers.drain([ref('w1')])
      await backend.workers.manage([{ ...ref('w1'), managedBy: 'x' }])
      await backend.workers.forget([ref('w2')])
      const before = await row(backend, 'w1')
      await reopen(backend)
      if (!backend.capabilities.durable) return expect(await backend.workers.get([ref('w1')])).toEqual([null])
      expect(await row(backend, 'w1')).toEqual(before)
      expect(await backend.stats.read(ref('w1'), 0, 10)).toEqual({ kind: 'frames', frames: ['{"ts":1}', '{"ts":2}'] })
      expect(await backend.configs.history(ref('w1'), 10)).toHaveLength(1)
      clock.advance(HOUR)
      expect(await backend.workers.register([registration('w2', 'm2/1')])).toEqual([
        { kind: 'registered', previous: null, drain: false, replaced: null, gen: 2 },
      ])
    })
  })
}
