/** Contract of revisions: immutable named configs, their use, and their end (D132). */
import { describe, expect, it } from '@jest/globals'
import { DEFAULTS, SECOND, TYPE, ref, registration, storeFixtures } from './fixture.ts'
import type { Create } from './fixture.ts'
import type { Backend, NewRevision, Tally } from '../../../src/storage/index.ts'

const revision = (name: string, more: Partial<NewRevision> = {}): NewRevision => ({
  name,
  config: `{"of":"${name}"}`,
  managedBy: null,
  actor: 'admin',
  ...more,
})

/** Brings a worker, which is registered here, to a revision. */
async function use(backend: Backend, id: string, name: string): Promise<void> {
  await backend.workers.register([registration(id, 'm1/1')])
  const [row] = await backend.configs.get([ref(id)])
  const put = {
    id,
    expectGen: row?.gen ?? 0,
    expectConfig: row?.config ?? DEFAULTS,
    expectManagedBy: null,
    variant: '-',
    change: { config: `{"of":"${name}"}`, patch: '{}', changed: ['of'] },
  }
  const [result] = await backend.configs.putMany(TYPE, { revision: name, managedBy: null, actor: 'a' }, [put])
  expect(result?.kind).toBe('stored')
}

async function putAll(backend: Backend, prefix: string, count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) expect(await backend.revisions.put(TYPE, revision(`${prefix}${i}`))).toBe('stored')
}

export function revisions(name: string, create: Create): void {
  const open = storeFixtures(create)
  const namesOf = async (backend: Backend) => (await backend.revisions.list(TYPE)).map((row) => row.name)

  describe(`${name} backend: revisions.put`, () => {
    it('stores a config under a name, which is never replaced nor compared', async () => {
      const { backend } = await open()
      expect(await backend.revisions.put(TYPE, revision('r1'))).toBe('stored')
      expect(await backend.revisions.put(TYPE, revision('r1'))).toBe('exists')
      expect(await backend.revisions.put(TYPE, revision('r1', { config: '{"of":"other"}' }))).toBe('exists')
      expect(await backend.revisions.get(TYPE, ['r1', 'unknown'])).toEqual(['{"of":"r1"}', null])
      expect(await backend.revisions.get('other', ['r1'])).toEqual([null])
      expect(await backend.revisions.put('other', revision('r1'))).toBe('stored')
    })

    it('drops those that are neither in use nor among the newest 32', async () => {
      const { backend } = await open()
      await putAll(backend, 'a', 3)
      await use(backend, 'w1', 'a1')
      await putAll(backend, 'b', 32)
      expect(await namesOf(backend)).toEqual([...Array.from({ length: 32 }, (_, i) => `b${31 - i}`), 'a1'])
      expect(await backend.revisions.get(TYPE, ['a0', 'a1', 'a2'])).toEqual([null, '{"of":"a1"}', null])
      await use(backend, 'w1', 'b5')
      await putAll(backend, 'c', 32)
      expect((await namesOf(backend)).slice(32)).toEqual(['b5'])
    })

    it('counts a worker that was forgotten as none', async () => {
      const { backend } = await open()
      await putAll(backend, 'a', 1)
      await use(backend, 'w1', 'a0')
      await backend.workers.forget([ref('w1')])
      expect(await backend.revisions.list(TYPE)).toMatchObject([{ name: 'a0', workers: 0 }])
      await putAll(backend, 'b', 32)
      expect(await namesOf(backend)).toHaveLength(32)
    })

    it('returns full while 256 revisions are in use or among the newest', async () => {
      const { backend } = await open()
      for (let i = 0; i < 256; i += 1) {
        await backend.revisions.put(TYPE, revision(`r${i}`))
        await use(backend, `w${i}`, `r${i}`)
      }
      expect(await backend.revisions.put(TYPE, revision('more'))).toBe('full')
      expect(await backend.revisions.put('other', revision('more'))).toBe('stored')
      await use(backend, 'w0', 'r1')
      expect(await backend.revisions.put(TYPE, revision('more'))).toBe('stored')
      expect((await namesOf(backend)).slice(-2)).toEqual(['r2', 'r1'])
    })
  })

  describe(`${name} backend: revisions.list`, () => {
    it('returns the newest first, with workers and times of use', async () => {
      const { backend, clock } = await open()
      const created = clock.wallMs()
      await backend.revisions.put(TYPE, revision('r1', { managedBy: 'kubernetes:a/b#1' }))
      clock.advance(SECOND)
      await backend.revisions.put(TYPE, revision('r2'))
      expect(await backend.revisions.list('other')).toEqual([])
      await use(backend, 'w1', 'r1')
      clock.advance(SECOND)
      await use(backend, 'w2', 'r1')
      await backend.configs.put({ ...ref('w2'), expectGen: 1, config: '{}', changed: [], actor: 'admin' })
      const unused = { workers: 0, firstUsedAtMs: null, lastUsedAtMs: null, tally: {} }
      expect(await backend.revisions.list(TYPE)).toEqual([
        { name: 'r2', managedBy: null, actor: 'admin', createdAtMs: created + SECOND, ...unused },
        {
          name: 'r1',
          managedBy: 'kubernetes:a/b#1',
          actor: 'admin',
          createdAtMs: created,
          workers: 2,
          firstUsedAtMs: created + SECOND,
          lastUsedAtMs: created + 2 * SECOND,
          tally: {},
        },
      ])
      await use(backend, 'w1', 'r2')
      expect(await backend.revisions.list(TYPE)).toMatchObject([
        { name: 'r2', workers: 1 },
        { name: 'r1', workers: 1 },
      ])
    })
  })

  describe(`${name} backend: revisions.addTallies`, () => {
    const add = (backend: Backend, of: string, counters: Tally) =>
      backend.revisions.addTallies(TYPE, [{ revision: of, counters }])
    const tallies = async (backend: Backend) =>
      Object.fromEntries((await backend.revisions.list(TYPE)).map((row) => [row.name, row.tally]))

    it('adds to each revision, also from several callers, and leaves out unknown ones (D138)', async () => {
      const { backend } = await open()
      await backend.revisions.addTallies(TYPE, [{ revision: 'r1', counters: { runs_ok: 1 } }])
      await putAll(backend, 'r', 3)
      await backend.revisions.addTallies(TYPE, [])
      await Promise.all([
        add(backend, 'r1', { runs_ok: 2, 'run_ms_le.12': 1, worker_seconds: 0.1 }),
        add(backend, 'r1', { runs_ok: 3, worker_seconds: 0.2, 'counter.http_5xx "é': 7 }),
        backend.revisions.addTallies(TYPE, [
          { revision: 'r0', counters: { runs_failed: 1 } },
          { revision: 'unknown', counters: { runs_failed: 1 } },
          { revision: 'r0', counters: { runs_failed: 4, error_entries: 1 } },
        ]),
        backend.revisions.addTallies('other', [{ revision: 'r1', counters: { runs_ok: 1 } }]),
      ])
      const r1 = { runs_ok: 5, 'run_ms_le.12': 1, worker_seconds: 0.1 + 0.2, 'counter.http_5xx "é': 7 }
      expect(await tallies(backend)).toEqual({ r0: { runs_failed: 5, error_entries: 1 }, r1, r2: {} })
    })

    it('keeps at most 64 counters of plugins, and no value above 2^53 - 1 (D138)', async () => {
      const { backend } = await open()
      await putAll(backend, 'r', 1)
      const counters = (from: number, to: number) =>
        Object.fromEntries(Array.from({ length: to - from }, (_, i) => [`counter.c${from + i}`, 1]))
      await add(backend, 'r0', counters(0, 60))
      await add(backend, 'r0', { ...counters(50, 90), runs_ok: 1 })
      await add(backend, 'r0', { ...counters(63, 100), runs_ok: Number.MAX_SAFE_INTEGER })
      expect(await tallies(backend)).toEqual({
        r0: {
          ...counters(0, 64),
          ...Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`counter.c${50 + i}`, 2])),
          'counter.c63': 2,
          runs_ok: Number.MAX_SAFE_INTEGER,
        },
      })
    })

    it('is deleted together with the revision, so another one of the same name begins at 0 (D138)', async () => {
      const { backend } = await open()
      await putAll(backend, 'a', 1)
      await add(backend, 'a0', { runs_ok: 1 })
      await putAll(backend, 'b', 32)
      await add(backend, 'a0', { runs_ok: 1 })
      await putAll(backend, 'a', 1)
      expect(await tallies(backend)).toMatchObject({ a0: {} })
      await add(backend, 'a0', { runs_ok: 1 })
      expect(await tallies(backend)).toMatchObject({ a0: { runs_ok: 1 } })
    })

    it('rejects names and values that no tally has', async () => {
      const { backend } = await open()
      const wrong: Tally[] = [{ other: 1 }, { 'counter.muster.x': 1 }, { runs_ok: -1 }, { runs_ok: Infinity }]
      for (const counters of wrong) await expect(add(backend, 'r1', counters)).rejects.toThrow(TypeError)
    })
  })
}
