/** Contract of worker configs and of the statistics history. */
import { describe, expect, it } from '@jest/globals'
import { DEFAULTS, SECOND, conn, ref, registration, storeFixtures } from './fixture.ts'
import type { Create } from './fixture.ts'
import type { Backend, ConfigPut } from '../../../src/storage/index.ts'

const put = (expectGen: number, more: Partial<ConfigPut> = {}): ConfigPut => ({
  ...ref('w1'),
  expectGen,
  config: `{"slots":${expectGen + 1}}`,
  changed: ['slots'],
  actor: 'admin',
  ...more,
})

export function configs(name: string, create: Create): void {
  const registered = (open: ReturnType<typeof storeFixtures>) => async () => {
    const fixture = await open()
    await fixture.backend.workers.register([registration('w1', 'm1/1')])
    return fixture
  }

  describe(`${name} backend: configs.put`, () => {
    const open = registered(storeFixtures(create))

    it('increments the generation and returns the connection to notify', async () => {
      const { backend, clock } = await open()
      clock.advance(SECOND)
      expect(await backend.configs.put(put(0))).toEqual({ kind: 'stored', gen: 1, conn: 'm1/1' })
      const config = { gen: 1, config: '{"slots":1}', changedAtMs: clock.wallMs(), actor: 'admin' }
      const managed = { ...config, configRevision: null, managedBy: null }
      expect(await backend.configs.get([ref('w1'), ref('unknown')])).toEqual([managed, null])
      expect((await backend.workers.get([ref('w1')]))[0]?.config).toEqual(config)
    })

    it('increments the generation even when no field changes (D16)', async () => {
      const { backend } = await open()
      expect(await backend.configs.put(put(0, { config: DEFAULTS, changed: [] }))).toMatchObject({
        kind: 'stored',
        gen: 1,
      })
    })

    it('rejects a stale generation with the stored config and changes nothing (D18)', async () => {
      const { backend, clock } = await open()
      await backend.configs.put(put(0))
      const stored = { gen: 1, config: '{"slots":1}', changedAtMs: clock.wallMs(), actor: 'admin' }
      clock.advance(SECOND)
      for (const stale of [0, 2, 100])
        expect(await backend.configs.put(put(stale))).toEqual({ kind: 'conflict', current: stored })
      expect(await backend.configs.history(ref('w1'), 10)).toHaveLength(1)
    })

    it('rejects a change of another config of the same generation (D46)', async () => {
      const { backend } = await open()
      const before = (await backend.workers.get([ref('w1')]))[0]?.config
      const expectConfig = before?.config
      for (const other of ['{}', '1}', `x${expectConfig}`])
        expect(await backend.configs.put({ ...put(0), expectConfig: other })).toEqual({
          kind: 'conflict',
          current: before,
        })
      expect(await backend.configs.history(ref('w1'), 10)).toHaveLength(0)
      expect(await backend.configs.put({ ...put(0), expectConfig: `${expectConfig}` })).toMatchObject({ gen: 1 })
      expect(await backend.configs.put({ ...put(1), expectConfig: '{"slots":1}' })).toMatchObject({ gen: 2 })
      const stale = await backend.configs.put({ ...put(2), expectConfig: `${expectConfig}` })
      expect(stale).toMatchObject({ kind: 'conflict', current: { gen: 2, config: '{"slots":2}' } })
    })

    it('lets exactly one of many concurrent writers of one generation succeed (D18)', async () => {
      const { backend } = await open()
      const results = await Promise.all(
        Array.from({ length: 20 }, (_, i) => backend.configs.put(put(0, { config: `{"slots":${i}}` }))),
      )
      expect(results.filter(({ kind }) => kind === 'stored')).toHaveLength(1)
      expect((await backend.configs.get([ref('w1')]))[0]?.gen).toBe(1)
    })

    it('returns no connection for a disconnected worker, and not_found for an unknown one', async () => {
      const { backend } = await open()
      await backend.workers.disconnect([conn('w1', 'm1/1')])
      expect(await backend.configs.put(put(0))).toEqual({ kind: 'stored', gen: 1, conn: null })
      expect(await backend.configs.put(put(0, { id: 'unknown' }))).toEqual({ kind: 'not_found' })
    })
  })

  describe(`${name} backend: configs.history`, () => {
    const open = registered(storeFixtures(create))

    it('returns the newest change first, at most 50 entries (D39)', async () => {
      const { backend, clock } = await open()
      for (let gen = 0; gen < 55; gen += 1)
        await backend.configs.put(put(gen, { actor: `a${gen}`, changed: ['slots', 'enabled'] }))
      const history = await backend.configs.history(ref('w1'), 100)
      expect(history.map(({ gen }) => gen)).toEqual(Array.from({ length: 50 }, (_, i) => 55 - i))
      expect(history[0]).toEqual({
        gen: 55,
        changedAtMs: clock.wallMs(),
        actor: 'a54',
        changed: ['slots', 'enabled'],
        config: '{"slots":55}',
      })
      expect((await backend.configs.history(ref('w1'), 2)).map(({ gen }) => gen)).toEqual([55, 54])
      expect(await backend.configs.history(ref('unknown'), 2)).toEqual([])
    })
  })

  describe(`${name} backend: configs.raise`, () => {
    const open = registered(storeFixtures(create))

    it('sets the generation above the given one and leaves config and history unchanged (D46)', async () => {
      const { backend } = await open()
      await backend.configs.put(put(0))
      const before = (await backend.configs.get([ref('w1')]))[0]
      expect(await backend.configs.raise([{ ...ref('w1'), above: 41 }])).toEqual([
        { kind: 'raised', gen: 42, conn: 'm1/1' },
      ])
      expect((await backend.configs.get([ref('w1')]))[0]).toEqual({ ...before, gen: 42 })
      expect(await backend.configs.history(ref('w1'), 10)).toHaveLength(1)
      expect(await backend.configs.put(put(42))).toEqual({ kind: 'stored', gen: 43, conn: 'm1/1' })
    })

    it('never lowers the generation', async () => {
      const { backend } = await open()
      await backend.configs.raise([{ ...ref('w1'), above: 9 }])
      expect(
        await backend.configs.raise([
          { ...ref('w1'), above: 8 },
          { ...ref('w1'), above: 9 },
          { ...ref('w1'), above: 10 },
        ]),
      ).toEqual([
        { kind: 'raised', gen: 10, conn: 'm1/1' },
        { kind: 'raised', gen: 10, conn: 'm1/1' },
        { kind: 'raised', gen: 11, conn: 'm1/1' },
      ])
    })

    it('rejects a jump of more than a million generations, and unknown workers', async () => {
      const { backend } = await open()
      expect(
        await backend.configs.raise([
          { ...ref('w1'), above: 1_000_000 },
          { ...ref('w1'), above: 999_999 },
          { ...ref('unknown'), above: 1 },
        ]),
      ).toEqual([{ kind: 'too_far' }, { kind: 'raised', gen: 1_000_000, conn: 'm1/1' }, { kind: 'not_found' }])
    })

    it('keeps the raised generation when the worker is forgotten and registers again', async () => {
      const { backend } = await open()
      await backend.configs.raise([{ ...ref('w1'), above: 9 }])
      await backend.workers.forget([ref('w1')])
      expect(await backend.workers.register([registration('w1', 'm1/2')])).toMatchObject([{ gen: 11 }])
    })
  })

  describe(`${name} backend: stats.read`, () => {
    const open = registered(storeFixtures(create))
    const frames = (from: number, n: number): string[] =>
      Array.from({ length: n }, (_, i) => `{"slots":1,"ts":${from + i}.5}`)
    const push = (backend: Backend, stats: readonly string[]) =>
      backend.workers.beat([{ ...conn('w1', 'm1/1'), stats }])

    it('returns the frames since a time, oldest first, limited to the newest n (D10)', async () => {
      const { backend } = await open()
      await push(backend, frames(10, 4))
      await push(backend, frames(14, 1))
      expect(await backend.stats.read(ref('w1'), 0, 240)).toEqual({ kind: 'frames', frames: frames(10, 5) })
      expect(await backend.stats.read(ref('w1'), 11.5, 240)).toEqual({ kind: 'frames', frames: frames(11, 4) })
      expect(await backend.stats.read(ref('w1'), 11.6, 2)).toEqual({ kind: 'frames', frames: frames(13, 2) })
      expect(await backend.stats.read(ref('w1'), 99, 2)).toEqual({ kind: 'frames', frames: [] })
    })

    it('keeps the frame that arrived last as the current one, whatever its timestamp', async () => {
      const { backend } = await open()
      await push(backend, ['{"ts":5}', '{"ts":3}'])
      expect((await backend.workers.get([ref('w1')]))[0]?.stats).toBe('{"ts":3}')
      expect(await backend.stats.read(ref('w1'), 0, 1)).toEqual({ kind: 'frames', frames: ['{"ts":3}'] })
      expect(await backend.stats.read(ref('w1'), 4, 9)).toEqual({ kind: 'frames', frames: ['{"ts":5}'] })
    })

    it('keeps 240 frames', async () => {
      const { backend } = await open()
      for (let i = 0; i < 5; i += 1) await push(backend, frames(i * 100, 100))
      expect(await backend.stats.read(ref('w1'), 0, 10_000)).toEqual({ kind: 'frames', frames: frames(260, 240) })
      await push(backend, frames(1_000, 300))
      expect(await backend.stats.read(ref('w1'), 0, 10_000)).toEqual({ kind: 'frames', frames: frames(1_060, 240) })
    })

    it('keeps per-slot statistics of a worker with 1,024 slots in the history (D84)', async () => {
      const { backend } = await open()
      const slots = Array.from({ length: 1_024 }, (_, slot) => ({
        slot_id: slot,
        age_seconds: 86_400,
        counters: { done: 1_000_000 + slot, failed: 1_000 + slot },
      }))
      const frame = JSON.stringify({ slots: 1_024, ts: 7, metrics: { 'counter.a': 1 }, per_slot: slots })
      await push(backend, [frame])
      expect(await backend.stats.read(ref('w1'), 0, 1)).toEqual({ kind: 'frames', frames: [frame] })
    })

    it('stores a frame over 128 KiB without slots in the history, but whole as the current one (D84)', async () => {
      const { backend } = await open()
      const slim = '{"slots":1,"ts":7,"metrics":{"counter.a":1}}'
      const slot = '{"slot_id":1,"age_seconds":2,"counters":{}}'
      const huge = `${slim.slice(0, -1)},"per_slot":[${`${slot},`.repeat(4_000)}${slot}]}`
      await push(backend, [huge])
      expect(await backend.stats.read(ref('w1'), 0, 1)).toEqual({ kind: 'frames', frames: [slim] })
      expect((await backend.workers.get([ref('w1')]))[0]?.stats).toBe(huge)
    })

    it('also removes the metrics when a frame without slots is still over 128 KiB (D84)', async () => {
      const { backend } = await open()
      const metrics = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`counter.of.an.automation.${i}`, i]))
      const huge = JSON.stringify({ slots: 1, ts: 7, metrics, per_slot: [] })
      await push(backend, [huge])
      expect(await backend.stats.read(ref('w1'), 0, 1)).toEqual({
        kind: 'frames',
        frames: ['{"slots":1,"ts":7,"metrics":{}}'],
      })
      expect((await backend.workers.get([ref('w1')]))[0]?.stats).toBe(huge)
    })

    it('returns not_found for an unknown worker and an empty list before the first frame', async () => {
      const { backend } = await open()
      expect(await backend.stats.read(ref('unknown'), 0, 1)).toEqual({ kind: 'not_found' })
      expect(await backend.stats.read(ref('w1'), 0, 1)).toEqual({ kind: 'frames', frames: [] })
    })
  })
}
