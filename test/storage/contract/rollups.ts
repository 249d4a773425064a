/** Contract of rollups: their steps, how numbers are merged, and how long they are kept (D166). */
import { describe, expect, it } from '@jest/globals'
import { HISTORY_RESOLUTIONS } from '../../../src/protocol/index.ts'
import { DAY, HOSTILE, HOUR, MINUTE, SECOND, TYPE, reopen, storeFixtures } from './fixture.ts'
import type { Create, ManualClock } from './fixture.ts'
import type { Backend, RollupNumbers } from '../../../src/storage/index.ts'

const [FINE, MIDDLE, COARSE] = HISTORY_RESOLUTIONS.map(({ stepMs }) => stepMs) as [number, number, number]
const QUARTER = 15 * SECOND
const ALWAYS = Number.MAX_SAFE_INTEGER

export function rollups(name: string, create: Create): void {
  const open = storeFixtures(create)
  const add = (backend: Backend, peaks: RollupNumbers, sums: RollupNumbers = {}, type = TYPE): Promise<void> =>
    backend.rollups.add([{ type, peaks, sums }])
  const all = (backend: Backend, stepMs: number, type = TYPE) => backend.rollups.read(type, stepMs, 0, ALWAYS)

  /** Advances to the next quarter of an hour, where a step of each resolution begins. @returns its time. */
  async function aligned(backend: Backend, clock: ManualClock): Promise<number> {
    const { nowMs } = await backend.meta.info()
    const passed = nowMs % COARSE
    clock.advance(COARSE - passed)
    return nowMs - passed + COARSE
  }

  describe(`${name} backend: rollups`, () => {
    it('keeps 15 s for 2 hours, 1 min for 2 days and 15 min for 30 days', () => {
      const kept = HISTORY_RESOLUTIONS.map(({ stepMs, steps }) => [stepMs, stepMs * steps])
      expect(kept).toEqual([
        [15 * SECOND, 2 * HOUR],
        [MINUTE, 2 * DAY],
        [15 * MINUTE, 30 * DAY],
      ])
    })

    it('keeps the largest value of a peak and the sum of a sum, in the current step of each resolution', async () => {
      const { backend, clock } = await open()
      const start = await aligned(backend, clock)
      await add(backend, { wa: 7, su: 10 }, { w3: 2 })
      clock.advance(QUARTER - 1)
      await add(backend, { wa: 4, su: 12 }, { w3: 1, r9: 5 })
      clock.advance(1)
      await add(backend, { wa: 5 }, { w3: 4 })
      clock.advance(MINUTE)
      await add(backend, { wa: 1 })
      expect(await all(backend, FINE)).toEqual([
        { startMs: start, peaks: { wa: 7, su: 12 }, sums: { w3: 3, r9: 5 } },
        { startMs: start + QUARTER, peaks: { wa: 5 }, sums: { w3: 4 } },
        { startMs: start + QUARTER + MINUTE, peaks: { wa: 1 }, sums: {} },
      ])
      expect(await all(backend, MIDDLE)).toEqual([
        { startMs: start, peaks: { wa: 7, su: 12 }, sums: { w3: 7, r9: 5 } },
        { startMs: start + MINUTE, peaks: { wa: 1 }, sums: {} },
      ])
      expect(await all(backend, COARSE)).toEqual([{ startMs: start, peaks: { wa: 7, su: 12 }, sums: { w3: 7, r9: 5 } }])
    })

    it('adds several increments in one call, also of one type', async () => {
      const { backend } = await open()
      await backend.rollups.add([])
      await backend.rollups.add([
        { type: TYPE, peaks: { a: 1 }, sums: { r1: 1 } },
        { type: 'other', peaks: { a: 2 }, sums: {} },
        { type: TYPE, peaks: { a: 3 }, sums: { r1: 1 } },
      ])
      expect(await all(backend, COARSE)).toMatchObject([{ peaks: { a: 3 }, sums: { r1: 2 } }])
      expect(await all(backend, COARSE, 'other')).toMatchObject([{ peaks: { a: 2 }, sums: {} }])
      expect(await all(backend, COARSE, 'unknown')).toEqual([])
    })

    it('makes a step of an increment without numbers, and leaves out those that are 0', async () => {
      const { backend, clock } = await open()
      await add(backend, {})
      expect(await all(backend, FINE)).toMatchObject([{ peaks: {}, sums: {} }])
      clock.advance(QUARTER)
      await add(backend, { a: 0, b: 1 }, { r1: 0, r2: 1 })
      expect((await all(backend, FINE)).at(-1)).toMatchObject({ peaks: { b: 1 }, sums: { r2: 1 } })
    })

    it('keeps exact integers, and stops a sum at 2^53 - 1', async () => {
      const { backend } = await open()
      const large = Number.MAX_SAFE_INTEGER
      await add(backend, { a: large - 1, b: 123_456_789_012_345 }, { r1: large - 1, r2: 9_007_199_254_740_881 })
      await add(backend, { a: large, b: 1 }, { r1: 9, r2: 3 })
      expect(await all(backend, FINE)).toMatchObject([
        { peaks: { a: large, b: 123_456_789_012_345 }, sums: { r1: large, r2: 9_007_199_254_740_884 } },
      ])
    })

    it('reads the steps that start in a range, oldest first', async () => {
      const { backend, clock } = await open()
      const start = await aligned(backend, clock)
      for (let n = 0; n < 5; n += 1) {
        if (n !== 2) await add(backend, { a: n + 1 })
        clock.advance(QUARTER)
      }
      const read = async (from: number, to: number) =>
        (await backend.rollups.read(TYPE, FINE, start + from, start + to)).map(({ peaks }) => peaks['a'])
      expect(await read(0, 5 * QUARTER)).toEqual([1, 2, 4, 5])
      expect(await read(QUARTER, 4 * QUARTER)).toEqual([2, 4])
      expect(await read(1, 3 * QUARTER + 1)).toEqual([2, 4])
      expect(await read(2 * QUARTER, 3 * QUARTER)).toEqual([])
      expect(await read(4 * QUARTER, 0)).toEqual([])
    })

    it('drops the steps that a resolution no longer keeps, and puts new ones into their places', async () => {
      for (const { stepMs, steps } of HISTORY_RESOLUTIONS) {
        const { backend, clock } = await open()
        const start = await aligned(backend, clock)
        await add(backend, { a: 1 }, { r1: 1 })
        const starts = async () => (await all(backend, stepMs)).map(({ startMs }) => startMs - start)
        clock.advance((steps - 1) * stepMs)
        expect(await starts()).toEqual([0])
        await add(backend, { a: 2 })
        expect(await starts()).toEqual([0, (steps - 1) * stepMs])
        clock.advance(stepMs)
        expect(await starts()).toEqual([(steps - 1) * stepMs])
        await add(backend, { a: 3 })
        const newest = (await all(backend, stepMs)).at(-1)
        expect(newest).toEqual({ startMs: start + steps * stepMs, peaks: { a: 3 }, sums: {} })
      }
    })

    it('keeps every type apart from the others', async () => {
      const { backend } = await open()
      for (const [at, type] of HOSTILE.entries()) await add(backend, { a: at + 1 }, { r1: at + 1 }, type)
      for (const [at, type] of HOSTILE.entries())
        expect(await all(backend, FINE, type)).toMatchObject([{ peaks: { a: at + 1 }, sums: { r1: at + 1 } }])
    })

    it('keeps rollups across a restart if it is durable', async () => {
      const { backend } = await open()
      await add(backend, { a: 3 }, { r1: 4 })
      await reopen(backend)
      await add(backend, { a: 2 }, { r1: 1 })
      const kept = backend.capabilities.durable ? { peaks: { a: 3 }, sums: { r1: 5 } } : { peaks: { a: 2 } }
      expect(await all(backend, COARSE)).toMatchObject([kept])
    })

    it.each([
      [{ abc: 1 }, {}, 'peak must be one or two letters'],
      [{ '"': 1 }, {}, 'peak must be one or two letters'],
      [{}, { r: 1 }, 'sum must be a letter and a number below 100'],
      [{}, { r100: 1 }, 'sum must be a letter and a number below 100'],
      [{ a: -1 }, {}, 'value must be an integer'],
      [{}, { r1: 0.5 }, 'value must be an integer'],
    ])('rejects peaks %j with sums %j', async (peaks, sums, message) => {
      const { backend } = await open()
      await expect(add(backend, peaks as RollupNumbers, sums as RollupNumbers)).rejects.toThrow(message)
      expect(await all(backend, FINE)).toEqual([])
    })

    it('rejects another length of the steps', async () => {
      const { backend } = await open()
      await expect(all(backend, 30_000)).rejects.toThrow('there are no steps of 30000 ms')
    })
  })
}
