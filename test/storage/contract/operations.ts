/** Contract of operations: their bound, their versions, and their parts (D189). */
import { describe, expect, it } from '@jest/globals'
import { HOSTILE, TYPE, storeFixtures } from './fixture.ts'
import type { Create } from './fixture.ts'

const MAX = 32

export function operations(name: string, create: Create): void {
  const open = storeFixtures(create)

  describe(`${name} backend: operations`, () => {
    it('stores operations by type and id, and returns their heads by id', async () => {
      const { backend } = await open()
      expect(await backend.operations.heads([TYPE, 'other'])).toEqual([[], []])
      expect(await backend.operations.create(TYPE, 'b', '{"n":1}', ['p0', 'p1'])).toBe('created')
      expect(await backend.operations.create(TYPE, 'a', '7:8:x\n', [])).toBe('created')
      expect(await backend.operations.create('other', 'b', 'other', ['of other'])).toBe('created')
      expect(await backend.operations.heads(['other', TYPE, 'unknown'])).toEqual([
        [{ id: 'b', version: 1, head: 'other' }],
        [
          { id: 'a', version: 1, head: '7:8:x\n' },
          { id: 'b', version: 1, head: '{"n":1}' },
        ],
        [],
      ])
      expect(await backend.operations.part(TYPE, 'b', 1)).toBe('p1')
      expect(await backend.operations.part('other', 'b', 0)).toBe('of other')
      expect(await backend.operations.part(TYPE, 'b', 2)).toBeNull()
      expect(await backend.operations.part(TYPE, 'a', 0)).toBeNull()
      expect(await backend.operations.part('unknown', 'a', 0)).toBeNull()
    })

    it('creates no operation twice', async () => {
      const { backend } = await open()
      expect(await backend.operations.create(TYPE, 'a', 'first', ['p'])).toBe('created')
      expect(await backend.operations.create(TYPE, 'a', 'second', ['q', 'r'])).toBe('exists')
      expect(await backend.operations.heads([TYPE])).toEqual([[{ id: 'a', version: 1, head: 'first' }]])
      expect(await backend.operations.part(TYPE, 'a', 0)).toBe('p')
      expect(await backend.operations.part(TYPE, 'a', 1)).toBeNull()
    })

    it('updates head and parts of the expected version only, so that of two masters one is first', async () => {
      const { backend } = await open()
      await backend.operations.create(TYPE, 'a', 'h1', ['p0', 'p1', 'p2'])
      expect(await backend.operations.update(TYPE, 'a', 1, 'h2', [{ n: 1, text: 'q1' }])).toBe('updated')
      expect(await backend.operations.update(TYPE, 'a', 1, 'late', [{ n: 0, text: 'late' }])).toBe('conflict')
      expect(await backend.operations.update(TYPE, 'a', 3, 'early', [])).toBe('conflict')
      expect(await backend.operations.update(TYPE, 'b', 1, 'h', [])).toBe('not_found')
      expect(await backend.operations.update('unknown', 'a', 1, 'h', [])).toBe('not_found')
      expect(await backend.operations.heads([TYPE])).toEqual([[{ id: 'a', version: 2, head: 'h2' }]])
      const parts = await Promise.all([0, 1, 2].map((n) => backend.operations.part(TYPE, 'a', n)))
      expect(parts).toEqual(['p0', 'q1', 'p2'])
    })

    it('counts versions beyond ten, and adds no parts by an update', async () => {
      const { backend } = await open()
      await backend.operations.create(TYPE, 'a', 'h', ['p0'])
      for (let version = 1; version <= 12; version += 1) {
        const parts = [
          { n: 0, text: `p${version}` },
          { n: 1, text: 'new' },
        ]
        expect(await backend.operations.update(TYPE, 'a', version, 'h', parts)).toBe('updated')
      }
      expect(await backend.operations.heads([TYPE])).toEqual([[{ id: 'a', version: 13, head: 'h' }]])
      expect(await backend.operations.part(TYPE, 'a', 0)).toBe('p12')
      expect(await backend.operations.part(TYPE, 'a', 1)).toBeNull()
    })

    it('removes an operation with its parts', async () => {
      const { backend } = await open()
      expect(await backend.operations.remove(TYPE, 'a')).toBe(false)
      await backend.operations.create(TYPE, 'a', 'h', ['p0', 'p1'])
      await backend.operations.create(TYPE, 'a/1', 'h', ['of a/1'])
      expect(await backend.operations.remove(TYPE, 'a')).toBe(true)
      expect(await backend.operations.remove(TYPE, 'a')).toBe(false)
      expect(await backend.operations.part(TYPE, 'a', 0)).toBeNull()
      expect(await backend.operations.part(TYPE, 'a/1', 0)).toBe('of a/1')
      expect(await backend.operations.create(TYPE, 'a', 'h', [])).toBe('created')
      expect(await backend.operations.part(TYPE, 'a', 1)).toBeNull()
    })

    it('keeps every id apart from the others', async () => {
      const { backend } = await open()
      for (const each of HOSTILE) {
        expect(await backend.operations.create(TYPE, each, each, [each])).toBe('created')
        expect(await backend.operations.part(TYPE, each, 0)).toBe(each)
      }
      const [heads] = await backend.operations.heads([TYPE])
      expect(heads?.map(({ id }) => id).toSorted()).toEqual(HOSTILE.toSorted())
      expect(heads?.every(({ id, head }) => head === id)).toBe(true)
    })

    it('returns full at 32 operations of a type', async () => {
      const { backend } = await open()
      for (let n = 0; n < MAX; n += 1) expect(await backend.operations.create(TYPE, `a${n}`, 'h', [])).toBe('created')
      expect(await backend.operations.create(TYPE, 'more', 'h', ['p'])).toBe('full')
      expect(await backend.operations.part(TYPE, 'more', 0)).toBeNull()
      expect(await backend.operations.create('other', 'more', 'h', [])).toBe('created')
      await backend.operations.remove(TYPE, 'a5')
      expect(await backend.operations.create(TYPE, 'more', 'h', [])).toBe('created')
    })
  })
}
