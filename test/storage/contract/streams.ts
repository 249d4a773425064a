/** Contract of the output streams. */
import { describe, expect, it } from '@jest/globals'
import { HOSTILE, HOUR, MINUTE, SECOND, TYPE, ids, reopen, sole, storeFixtures } from './fixture.ts'
import type { Create } from './fixture.ts'
import type { Backend } from '../../../src/storage/index.ts'

const MIB = 1_048_576
const entry = (name: string | number): string => `{"slot_id":0,"ts":1,"payload":{"of":${JSON.stringify(name)}}}`
const entries = (from: number, n: number): string[] => Array.from({ length: n }, (_, i) => entry(from + i))
const textsOf = (items: readonly { readonly entry: string }[]): string[] => items.map((item) => item.entry)
const grows = (list: readonly string[]): boolean => list.every((id, i) => i === 0 || id > (list[i - 1] ?? ''))

/** Pushes as producer m1 with increasing sequence numbers. */
function pusher(backend: Backend, type = TYPE): (...list: readonly string[]) => ReturnType<Backend['streams']['push']> {
  let seq = 0
  return (...list) => backend.streams.push(type, 'm1', (seq += 1), list)
}

export function streams(name: string, create: Create): void {
  describe(`${name} backend: streams.push`, () => {
    const open = storeFixtures(create)

    it('appends entries unchanged, with ids that grow and sort as text (D30)', async () => {
      const { backend, clock } = await open()
      const push = pusher(backend)
      expect(await push(entry('a'), entry('b'))).toEqual({ length: 2, trimmed: 0 })
      clock.advance(SECOND)
      expect(await push(entry('c'))).toEqual({ length: 3, trimmed: 0 })
      const all = await backend.streams.peek(TYPE, 10)
      expect(textsOf(all)).toEqual(['a', 'b', 'c'].map(entry))
      expect(new Set(ids(all)).size).toBe(3)
      expect(grows(ids(all))).toBe(true)
    })

    it('ignores a repeated push', async () => {
      const { backend } = await open()
      await backend.streams.push(TYPE, 'm1', 1, [entry('a')])
      await backend.streams.push(TYPE, 'm1', 2, [entry('b')])
      expect(await backend.streams.push(TYPE, 'm1', 2, [entry('b')])).toEqual({ length: 2, trimmed: 0 })
      expect(await backend.streams.push(TYPE, 'm1', 1, [entry('a')])).toEqual({ length: 2, trimmed: 0 })
      await backend.streams.push(TYPE, 'm2', 1, [entry('c')])
      await backend.streams.push('other', 'm1', 1, [entry('d')])
      expect(textsOf(await backend.streams.peek(TYPE, 10))).toEqual(['a', 'b', 'c'].map(entry))
      expect(await backend.streams.length([TYPE, 'other', 'unknown'])).toEqual([3, 1, 0])
    })

    it('keeps the newest 50,000 entries, and counts only their bytes', async () => {
      const { backend } = await open()
      const push = pusher(backend)
      await push(...entries(100_000, 1000))
      const [bytes = 0] = await backend.streams.bytes([TYPE])
      for (let i = 1; i < 50; i += 1) await push(...entries(100_000 + i * 1000, 1000))
      for (const from of [150_000, 151_000]) {
        expect(await push(...entries(from, 1000))).toEqual({ length: 50_000, trimmed: 1000 })
        expect(await backend.streams.bytes([TYPE])).toEqual([50 * bytes])
      }
      expect(await push(...entries(152_000, 700))).toEqual({ length: 50_000, trimmed: 700 })
      expect(textsOf(await backend.streams.peek(TYPE, 1))).toEqual([entry(102_700)])
      expect(textsOf((await backend.streams.tail(TYPE, null, 1)).entries)).toEqual([entry(152_699)])
    })

    it('drops entries that arrived an hour ago, only during a push', async () => {
      const { backend, clock } = await open()
      const push = pusher(backend)
      await push(entry('a'), entry('b'))
      const [a, b] = ids(await backend.streams.peek(TYPE, 2))
      clock.advance(MINUTE)
      await push(entry('c'))
      clock.advance(HOUR - MINUTE - 1)
      expect(await push(entry('d'))).toEqual({ length: 4, trimmed: 0 })
      clock.advance(1)
      expect(await backend.streams.length([TYPE])).toEqual([4])
      expect(await push(entry('e'))).toEqual({ length: 3, trimmed: 2 })
      const kept = await backend.streams.peek(TYPE, 10)
      expect(textsOf(kept)).toEqual(['c', 'd', 'e'].map(entry))
      expect(await backend.streams.tail(TYPE, a ?? '', 10)).toEqual({ entries: kept, gap: true })
      expect(await backend.streams.tail(TYPE, b ?? '', 10)).toEqual({ entries: kept, gap: false })
    })

    it('drops all entries that arrived an hour ago, however many pushes they came with', async () => {
      const { backend, clock } = await open()
      const push = pusher(backend)
      await Promise.all(entries(0, 150).map((each) => push(each)))
      clock.advance(HOUR)
      expect(await push(entry('new'))).toEqual({ length: 1, trimmed: 150 })
      expect(textsOf(await backend.streams.peek(TYPE, 10))).toEqual([entry('new')])
    })

    it('keeps the streams of types with hostile names apart', async () => {
      const { backend } = await open()
      for (const type of HOSTILE) await backend.streams.push(type, type, 1, [entry(type)])
      for (const type of HOSTILE) expect(textsOf(await backend.streams.pop(type, 10))).toEqual([entry(type)])
    })
  })

  describe(`${name} backend: streams.peek and pop`, () => {
    const open = storeFixtures(create)

    it('peeks at the oldest n entries and removes none', async () => {
      const { backend } = await open()
      await pusher(backend)(...entries(0, 5))
      expect(textsOf(await backend.streams.peek(TYPE, 2))).toEqual(entries(0, 2))
      expect(textsOf(await backend.streams.peek(TYPE, 10))).toEqual(entries(0, 5))
      expect(await backend.streams.peek('unknown', 10)).toEqual([])
    })

    it('pops the oldest n entries once, with the ids that peek showed', async () => {
      const { backend } = await open()
      const push = pusher(backend)
      await push(...entries(0, 5))
      const seen = await backend.streams.peek(TYPE, 5)
      expect(await backend.streams.pop(TYPE, 2)).toEqual(seen.slice(0, 2))
      await push(...entries(5, 1))
      expect(await backend.streams.pop(TYPE, 3)).toEqual(seen.slice(2))
      expect(textsOf(await backend.streams.pop(TYPE, 10))).toEqual(entries(5, 1))
      expect(await backend.streams.pop(TYPE, 10)).toEqual([])
      expect(await backend.streams.length([TYPE])).toEqual([0])
    })

    it('never reuses an id, even after the stream was empty', async () => {
      const { backend } = await open()
      const push = pusher(backend)
      await push(...entries(0, 3))
      const first = ids(await backend.streams.pop(TYPE, 3))
      await push(...entries(3, 3))
      expect(grows([...first, ...ids(await backend.streams.pop(TYPE, 3))])).toBe(true)
    })

    it('returns no entry to two concurrent pops', async () => {
      const { backend } = await open()
      await pusher(backend)(...entries(0, 1000))
      const got = (await Promise.all(Array.from({ length: 30 }, () => backend.streams.pop(TYPE, 40)))).flat()
      expect(got).toHaveLength(1000)
      expect(new Set(textsOf(got)).size).toBe(1000)
    })

    it('returns at most 32 MiB, but at least one entry (D56)', async () => {
      const { backend } = await open()
      const push = pusher(backend)
      for (let i = 0; i < 4; i += 1) await push(`{"x":"${'x'.repeat(9 * MIB)}"}`)
      await push(`{"x":"${'y'.repeat(33 * MIB)}"}`)
      expect(await backend.streams.peek(TYPE, 10_000)).toHaveLength(3)
      expect(await backend.streams.pop(TYPE, 10_000)).toHaveLength(3)
      expect(await backend.streams.pop(TYPE, 10_000)).toHaveLength(1)
      expect(sole(await backend.streams.pop(TYPE, 10_000)).entry).toHaveLength(33 * MIB + 8)
    }, 30_000)
  })

  describe(`${name} backend: streams.tail`, () => {
    const open = storeFixtures(create)

    it('returns the newest n entries, oldest first, without a starting id (D50)', async () => {
      const { backend } = await open()
      await pusher(backend)(...entries(0, 5))
      const { entries: newest, gap } = await backend.streams.tail(TYPE, null, 2)
      expect(textsOf(newest)).toEqual(entries(3, 2))
      expect(gap).toBe(false)
      expect(await backend.streams.tail('unknown', null, 2)).toEqual({ entries: [], gap: false })
      expect(await backend.streams.length([TYPE])).toEqual([5])
    })

    it('returns as many of the newest entries as fit into 32 MiB, whatever pushes they came with (D56)', async () => {
      const { backend } = await open()
      const push = pusher(backend)
      const sizes = async (): Promise<readonly number[]> =>
        (await backend.streams.tail(TYPE, null, 100)).entries.map((item) => Math.floor(item.entry.length / MIB))
      const large = (mib: number): string => `"${'x'.repeat(mib * MIB)}"`
      await push(large(10))
      await push(large(15))
      expect(await sizes()).toEqual([10, 15])
      await push(large(2), large(1), large(6))
      expect(await sizes()).toEqual([15, 2, 1, 6])
      await push(large(16))
      expect(await sizes()).toEqual([2, 1, 6, 16])
      await push(large(8))
      expect(await sizes()).toEqual([1, 6, 16, 8])
    }, 30_000)

    it('continues behind a known id, without a gap', async () => {
      const { backend } = await open()
      const push = pusher(backend)
      await push(...entries(0, 5))
      const all = await backend.streams.peek(TYPE, 5)
      expect(await backend.streams.tail(TYPE, all[1]?.id ?? '', 2)).toEqual({ entries: all.slice(2, 4), gap: false })
      expect(await backend.streams.tail(TYPE, all[4]?.id ?? '', 2)).toEqual({ entries: [], gap: false })
      await push(...entries(5, 1))
      expect(textsOf((await backend.streams.tail(TYPE, all[4]?.id ?? '', 2)).entries)).toEqual(entries(5, 1))
    })

    it('reports a gap when entries behind that id were removed', async () => {
      const { backend } = await open()
      await pusher(backend)(...entries(0, 5))
      const all = await backend.streams.pop(TYPE, 3)
      expect(await backend.streams.tail(TYPE, all[0]?.id ?? '', 1)).toMatchObject({ gap: true })
      expect(textsOf((await backend.streams.tail(TYPE, all[0]?.id ?? '', 9)).entries)).toEqual(entries(3, 2))
      const onTime = await backend.streams.tail(TYPE, all[2]?.id ?? '', 9)
      expect(onTime.gap).toBe(false)
      expect(textsOf(onTime.entries)).toEqual(entries(3, 2))
      await backend.streams.pop(TYPE, 9)
      expect(await backend.streams.tail(TYPE, all[0]?.id ?? '', 9)).toEqual({ entries: [], gap: true })
    })

    it('accepts any text as the starting id', async () => {
      const { backend } = await open()
      await pusher(backend)(...entries(0, 2))
      for (const after of ['', 'x', '-', '0000000000001-0000000000000001', ...HOSTILE]) {
        expect(await backend.streams.tail(TYPE, after, 9)).toEqual({
          entries: expect.any(Array),
          gap: expect.any(Boolean),
        })
      }
      expect(await backend.streams.tail(TYPE, '0000000000001-0000000000000001', 9)).toMatchObject({
        entries: [{ entry: entry(0) }, { entry: entry(1) }],
        gap: true,
      })
    })
  })

  describe(`${name} backend: streams across a restart`, () => {
    const open = storeFixtures(create)

    it('keeps its entries if and only if it is durable, and continues the ids', async () => {
      const { backend, clock } = await open()
      await backend.streams.push(TYPE, 'm1', 7, entries(0, 3))
      const before = await backend.streams.pop(TYPE, 1)
      clock.advance(1)
      await reopen(backend)
      const { durable } = backend.capabilities
      expect(textsOf(await backend.streams.peek(TYPE, 10))).toEqual(durable ? entries(1, 2) : [])
      if (durable) expect(await backend.streams.push(TYPE, 'm1', 7, entries(0, 3))).toEqual({ length: 2, trimmed: 0 })
      await backend.streams.push(TYPE, 'm2', 1, entries(3, 1))
      expect(grows(ids([...before, ...(await backend.streams.peek(TYPE, 10))]))).toBe(true)
    })
  })
}
