/** Contract of bulk changes of configs: compare-and-set of each worker, labels, and the history (D132, D133). */
import { describe, expect, it } from '@jest/globals'
import { DEFAULTS, HOSTILE, SECOND, TYPE, conn, fails, ref, registration, storeFixtures } from './fixture.ts'
import type { Create } from './fixture.ts'
import type { Backend, BulkChange, BulkPut } from '../../../src/storage/index.ts'

const CONFIG = '{"slots":4}'
const PATCH = '{"slots":4,"note":"]"}'
const BULK: BulkChange = { revision: 'r1', managedBy: null, actor: 'set:a' }
const change = { config: CONFIG, patch: PATCH, changed: ['slots'] }
/** The change of a worker that has its defaults. */
const put = (id: string, more: Partial<BulkPut> = {}): BulkPut => ({
  id,
  expectGen: 0,
  expectConfig: DEFAULTS,
  expectManagedBy: null,
  variant: '-',
  change,
  ...more,
})
const withBulk = (more: Partial<BulkChange>): BulkChange => ({ ...BULK, ...more })
const stored = (gen: number, at: string | null = 'm1/1') => ({ kind: 'stored', gen, conn: at })

export function bulkConfigs(name: string, create: Create): void {
  const open = storeFixtures(create)
  const fixture = async () => {
    const opened = await open()
    const { backend } = opened
    await backend.workers.register(['w1', 'w2', 'w3'].map((id) => registration(id, 'm1/1')))
    await backend.revisions.put(TYPE, { name: 'r1', config: CONFIG, managedBy: null, actor: 'set:a' })
    await backend.revisions.put(TYPE, { name: 'r2', config: '{"slots":2}', managedBy: null, actor: 'set:a' })
    return opened
  }
  const labels = async (backend: Backend) =>
    (await backend.configs.get(['w1', 'w2', 'w3'].map((id) => ref(id)))).map((row) => row?.configRevision)

  describe(`${name} backend: configs.putMany`, () => {
    it('writes config, label, manager and history of each worker', async () => {
      const { backend, clock } = await fixture()
      clock.advance(SECOND)
      const bulk = withBulk({ managedBy: 'kubernetes:a/b#1' })
      const puts = [put('w1'), put('w2', { variant: '5d0c77e1' })]
      expect(await backend.configs.putMany(TYPE, bulk, puts)).toEqual([stored(1), stored(1)])
      const row = { gen: 1, config: CONFIG, changedAtMs: clock.wallMs(), actor: 'set:a', managedBy: bulk.managedBy }
      expect(await backend.configs.get([ref('w1'), ref('w2')])).toEqual([
        { ...row, configRevision: 'r1/-' },
        { ...row, configRevision: 'r1/5d0c77e1' },
      ])
      const [worker] = await backend.workers.get([ref('w1')])
      expect(worker).toMatchObject({
        configRevision: 'r1/-',
        managedBy: bulk.managedBy,
        config: { gen: 1, config: CONFIG },
      })
      expect((await backend.workers.page(TYPE, null, 3)).map(({ configRevision }) => configRevision)).toEqual([
        'r1/-',
        'r1/5d0c77e1',
        null,
      ])
      expect(await backend.configs.history(ref('w1'), 5)).toEqual([
        {
          gen: 1,
          changedAtMs: clock.wallMs(),
          actor: 'set:a',
          changed: ['slots'],
          config: null,
          bulk: { revision: 'r1', patch: PATCH },
        },
      ])
    })

    it('keeps the generation, the config and the history if only label and manager change', async () => {
      const { backend } = await fixture()
      await backend.configs.putMany(TYPE, BULK, [put('w1')])
      const before = (await backend.configs.get([ref('w1')]))[0]
      const same = put('w1', { expectGen: 1, expectConfig: CONFIG, change: null, variant: 'v2' })
      expect(await backend.configs.putMany(TYPE, withBulk({ managedBy: 'me' }), [same])).toEqual([stored(1)])
      expect((await backend.configs.get([ref('w1')]))[0]).toEqual({
        ...before,
        configRevision: 'r1/v2',
        managedBy: 'me',
      })
      expect(await backend.configs.history(ref('w1'), 5)).toHaveLength(1)
    })

    it('compares generation, config and manager of each worker in the same step', async () => {
      const { backend } = await fixture()
      await backend.workers.manage([{ ...ref('w2'), managedBy: 'other' }])
      const results = await backend.configs.putMany(TYPE, BULK, [
        put('w1', { expectGen: 1 }),
        put('w2'),
        put('w3', { expectConfig: '{}' }),
        put('unknown'),
      ])
      expect(results.map(({ kind }) => kind)).toEqual(['conflict', 'conflict', 'conflict', 'not_found'])
      expect(await labels(backend)).toEqual([null, null, null])
      expect(await backend.configs.history(ref('w2'), 5)).toEqual([])
      const right = [put('w1'), put('w2', { expectManagedBy: 'other' }), put('w3', { expectGen: 3 })]
      expect((await backend.configs.putMany(TYPE, BULK, right)).map(({ kind }) => kind)).toEqual([
        'stored',
        'stored',
        'conflict',
      ])
      expect((await backend.configs.get([ref('w2')]))[0]?.managedBy).toBe('other')
    })

    it('lets one of many concurrent bulk changes of a generation succeed', async () => {
      const { backend } = await fixture()
      const all = await Promise.all(
        Array.from({ length: 10 }, (_, i) =>
          backend.configs.putMany(TYPE, BULK, [
            put('w1', { change: { ...change, config: `{"slots":${i}}` } }),
            put('w2', { change: { ...change, config: `{"slots":${i}}` } }),
          ]),
        ),
      )
      expect(all.flat().filter(({ kind }) => kind === 'stored')).toHaveLength(2)
    })

    it('writes nothing for a revision that is not stored', async () => {
      const { backend } = await fixture()
      expect(await backend.configs.putMany(TYPE, withBulk({ revision: 'r9' }), [put('w1'), put('unknown')])).toEqual([
        { kind: 'unknown_revision' },
        { kind: 'unknown_revision' },
      ])
      expect(await labels(backend)).toEqual([null, null, null])
    })

    it('returns no connection for a disconnected worker', async () => {
      const { backend } = await fixture()
      await backend.workers.disconnect([conn('w1', 'm1/1')])
      expect(await backend.configs.putMany(TYPE, BULK, [put('w1')])).toEqual([stored(1, null)])
    })

    it('reads the variant as * after any other change, and keeps the revision (D133)', async () => {
      const { backend } = await fixture()
      await backend.configs.putMany(TYPE, BULK, [put('w1'), put('w2'), put('w3')])
      await backend.configs.put({ ...ref('w1'), expectGen: 1, config: CONFIG, changed: [], actor: 'admin' })
      await backend.configs.raise([{ ...ref('w2'), above: 7 }])
      expect(await labels(backend)).toEqual(['r1/*', 'r1/*', 'r1/-'])
      const again = put('w1', { expectGen: 2, expectConfig: CONFIG, change: null })
      await backend.configs.putMany(TYPE, BULK, [again])
      expect(await labels(backend)).toEqual(['r1/-', 'r1/*', 'r1/-'])
    })

    it('is named by the reports of its workers while they have the generation that it wrote (D138)', async () => {
      const { backend } = await fixture()
      const reported = async (state?: { gen: number }) => {
        const report = {
          ...conn('w1', 'm1/1'),
          ...(state && { state: { state: 'IDLE' as const, lastError: null, ...state } }),
        }
        const [result, unlabelled] = await backend.workers.beat([report, conn('w2', 'm1/1'), conn('w2', 'm9/9')])
        expect(unlabelled).toEqual({ status: 'ok', gen: 0 })
        return result
      }
      expect(await reported()).toEqual({ status: 'ok', gen: 0 })
      await backend.configs.putMany(TYPE, BULK, [put('w1')])
      expect(await reported({ gen: 0 })).toEqual({ status: 'ok', gen: 1, revision: 'r1' })
      await backend.configs.put({ ...ref('w1'), expectGen: 1, config: CONFIG, changed: [], actor: 'admin' })
      expect(await reported({ gen: 1 })).toEqual({ status: 'ok', gen: 2 })
      const again = put('w1', { expectGen: 2, expectConfig: CONFIG, change: null })
      await backend.configs.putMany(TYPE, withBulk({ revision: 'r2' }), [again])
      expect(await reported()).toEqual({ status: 'ok', gen: 2, revision: 'r2' })
    })

    it('forgets the label with the worker', async () => {
      const { backend } = await fixture()
      await backend.configs.putMany(TYPE, BULK, [put('w1')])
      await backend.workers.forget([ref('w1')])
      await backend.workers.register([registration('w1', 'm1/2')])
      expect(await backend.configs.get([ref('w1')])).toMatchObject([{ gen: 2, configRevision: null }])
    })

    it('keeps the newest 50 changes, bulk changes and others', async () => {
      const { backend } = await fixture()
      for (let gen = 0; gen < 53; gen += 1) {
        const expectConfig = gen === 0 ? DEFAULTS : CONFIG
        if (gen % 2 === 0) await backend.configs.putMany(TYPE, BULK, [put('w1', { expectGen: gen, expectConfig })])
        else await backend.configs.put({ ...ref('w1'), expectGen: gen, config: CONFIG, changed: [], actor: 'admin' })
      }
      const history = await backend.configs.history(ref('w1'), 100)
      expect(history.map(({ gen }) => gen)).toEqual(Array.from({ length: 50 }, (_, i) => 53 - i))
      expect(history.slice(0, 2).map(({ config, bulk }) => [config, bulk?.revision])).toEqual([
        [null, 'r1'],
        [CONFIG, undefined],
      ])
    })

    it('changes 200 workers with configs that differ in one call', async () => {
      const { backend } = await fixture()
      const many = Array.from({ length: 200 }, (_, i) => `many-${i}`)
      await backend.workers.register(many.map((id) => registration(id, 'm1/1')))
      const configOf = (i: number): string => `{"slots":${i},"pad":"${'x'.repeat(10_000)}"}`
      const puts = many.map((id, i) => put(id, { change: { ...change, config: configOf(i) } }))
      const results = await backend.configs.putMany(TYPE, BULK, puts)
      expect(results.filter(({ kind }) => kind === 'stored')).toHaveLength(200)
      expect((await backend.configs.get([ref('many-199')]))[0]?.config).toBe(configOf(199))
      expect((await backend.revisions.list(TYPE)).find(({ name: each }) => each === 'r1')?.workers).toBe(200)
    })

    it('treats hostile names as data', async () => {
      const { backend } = await fixture()
      const names = HOSTILE.filter((each) => !each.includes('/'))
      await backend.workers.register(names.map((id) => registration(id, 'm1/1')))
      for (const each of names) {
        const config = JSON.stringify({ of: each })
        await backend.revisions.put(TYPE, { name: each, config, managedBy: each, actor: each })
        const put1 = put(each, { variant: each, change: { config, patch: config, changed: [each] } })
        expect(await backend.configs.putMany(TYPE, { revision: each, managedBy: each, actor: each }, [put1])).toEqual([
          stored(1),
        ])
        expect(await backend.configs.get([ref(each)])).toMatchObject([
          { config, actor: each, managedBy: each, configRevision: `${each}/${each}` },
        ])
        expect((await backend.configs.history(ref(each), 1))[0]).toMatchObject({
          changed: [each],
          bulk: { revision: each, patch: config },
        })
      }
    })

    it('rejects wrong arguments before any effect', async () => {
      const { backend } = await fixture()
      const wrong: readonly (readonly BulkPut[])[] = [
        [],
        Array.from({ length: 201 }, (_, i) => put(`w${i}`)),
        [put('w1'), put('w1')],
        [put('')],
        [put('w1', { expectGen: -1 })],
        [put('w1', { variant: '' })],
      ]
      for (const puts of wrong) {
        await expect(backend.configs.putMany(TYPE, BULK, puts)).rejects.toThrow(TypeError)
      }
      await backend.close()
      await expect(backend.configs.putMany(TYPE, BULK, [put('w1')])).rejects.toEqual(fails('STORAGE_NOT_OPEN'))
    })
  })
}
