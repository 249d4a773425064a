/** Contract of trimming streams without pushes: by age and by bytes, one part at a time. */
import { describe, expect, it } from '@jest/globals'
import { HOUR, TYPE, storeFixtures } from './fixture.ts'
import type { Create } from './fixture.ts'

const entry = (i: number): string => JSON.stringify({ i, text: 'x'.repeat(1_000) })

export function streamBounds(name: string, create: Create): void {
  describe(`${name} backend: streams.trim and bytes (D83)`, () => {
    const open = storeFixtures(create)

    it('drops the oldest entries until at most the given bytes remain, and counts the remaining bytes', async () => {
      const {
        backend: { streams },
      } = await open()
      for (let i = 0; i < 10; i += 1) await streams.push(TYPE, 'p', i, [entry(i)])
      const [all = 0] = await streams.bytes([TYPE])
      expect(all).toBeGreaterThanOrEqual(10_000)
      const kept = await streams.peek(TYPE, 10)
      expect(await streams.trim(TYPE, Math.floor(all * 0.45))).toEqual({ trimmed: 6, more: false })
      expect(await streams.peek(TYPE, 10)).toEqual(kept.slice(6))
      expect((await streams.bytes([TYPE]))[0]).toBe(all * 0.4)
      expect(await streams.trim(TYPE, all * 0.4)).toEqual({ trimmed: 0, more: false })
      expect(await streams.tail(TYPE, kept[2]?.id ?? '', 10)).toEqual({ entries: kept.slice(6), gap: true })
      expect(await streams.tail(TYPE, kept[5]?.id ?? '', 10)).toEqual({ entries: kept.slice(6), gap: false })
      expect(await streams.trim(TYPE, all)).toEqual({ trimmed: 0, more: false })
      expect(await streams.trim(TYPE, 0)).toEqual({ trimmed: 4, more: false })
      expect(await streams.bytes([TYPE, 'unknown'])).toEqual([0, 0])
      expect(await streams.trim('unknown', 0)).toEqual({ trimmed: 0, more: false })
    })

    it('drops the oldest of 1,100 pushes, in as many steps as it reports', async () => {
      const {
        backend: { streams },
      } = await open()
      await Promise.all(Array.from({ length: 1_100 }, (_, i) => streams.push(TYPE, 'p', i, [entry(1_000 + i)])))
      const [all = 0] = await streams.bytes([TYPE])
      let [trimmed, more] = [0, true]
      while (more) {
        const step = await streams.trim(TYPE, (all / 1_100) * 50)
        trimmed += step.trimmed
        more = step.more
      }
      expect(trimmed).toBe(1_050)
      expect(await streams.bytes([TYPE])).toEqual([(all / 1_100) * 50])
      const kept = await streams.peek(TYPE, 100)
      expect(kept.map((each) => each.entry)).toEqual(Array.from({ length: 50 }, (_, i) => entry(2_050 + i)))
    })

    it('drops entries older than an hour without a push', async () => {
      const {
        backend: { streams },
        clock,
      } = await open()
      await streams.push(TYPE, 'p', 1, [entry(0), entry(1)])
      clock.advance(HOUR / 2)
      await streams.push(TYPE, 'p', 2, [entry(2)])
      clock.advance(HOUR / 2)
      expect(await streams.trim(TYPE, Number.MAX_SAFE_INTEGER)).toEqual({ trimmed: 2, more: false })
      expect(await streams.length([TYPE])).toEqual([1])
    })

    it('counts bytes correctly after a stream was popped in part and completely', async () => {
      const {
        backend: { streams },
      } = await open()
      await streams.push(TYPE, 'p', 1, [entry(0), entry(1)])
      await streams.push(TYPE, 'p', 2, [entry(2)])
      const [all = 0] = await streams.bytes([TYPE])
      await streams.pop(TYPE, 1)
      expect((await streams.bytes([TYPE]))[0]).toBeLessThanOrEqual(all)
      await streams.pop(TYPE, 1)
      expect((await streams.bytes([TYPE]))[0]).toBeLessThan(all * 0.4)
      await streams.pop(TYPE, 1)
      expect(await streams.bytes([TYPE])).toEqual([0])
    })
  })
}
