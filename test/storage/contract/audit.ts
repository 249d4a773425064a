/** Contract of the audit log: its order, its pages and its bound (D235). */
import { describe, expect, it } from '@jest/globals'
import { storeFixtures } from './fixture.ts'
import type { Create } from './fixture.ts'

const KEPT = 10_000
const PAGE = 500

export function audit(name: string, create: Create): void {
  const open = storeFixtures(create)

  describe(`${name} backend: the audit log`, () => {
    it('lists entries newest first, page by page', async () => {
      const { backend } = await open()
      expect(await backend.audit.list(null, 10)).toEqual([])
      expect(await backend.audit.list(7, 10)).toEqual([])
      await backend.audit.append([])
      await backend.audit.append(['{"a":1}', '{"a":"ä\\u0000🦊"}'])
      await backend.audit.append(['third'])
      const all = [
        { n: 3, entry: 'third' },
        { n: 2, entry: '{"a":"ä\\u0000🦊"}' },
        { n: 1, entry: '{"a":1}' },
      ]
      expect(await backend.audit.list(null, 10)).toEqual(all)
      expect(await backend.audit.list(null, 2)).toEqual(all.slice(0, 2))
      expect(await backend.audit.list(2, 2)).toEqual(all.slice(2))
      expect(await backend.audit.list(3, 1)).toEqual(all.slice(1, 2))
      expect(await backend.audit.list(1, 2)).toEqual([])
      expect(await backend.audit.list(1_000_000, 2)).toEqual(all.slice(0, 2))
    })

    it('keeps the newest 10,000 entries, and their numbers', async () => {
      const { backend } = await open()
      const pages = KEPT / PAGE + 1
      for (let page = 0; page < pages; page += 1)
        await backend.audit.append(Array.from({ length: PAGE }, (_, at) => `${page * PAGE + at + 1}`))
      const read = []
      for (let before: number | null = null; ;) {
        const rows = await backend.audit.list(before, PAGE)
        if (rows.length === 0) break
        read.push(...rows)
        before = rows.at(-1)?.n ?? null
      }
      const expected = Array.from({ length: KEPT }, (_, at) => pages * PAGE - at)
      expect(read).toEqual(expected.map((n) => ({ n, entry: `${n}` })))
    })

    it('survives a restart, if the store does', async () => {
      const { backend } = await open()
      await backend.audit.append(['first', 'second'])
      await backend.close()
      await backend.open(AbortSignal.timeout(10_000))
      await backend.audit.append(['third'])
      const rows = (await backend.audit.list(null, 10)).map(({ entry }) => entry)
      expect(rows).toEqual(backend.capabilities.durable ? ['third', 'second', 'first'] : rows)
      expect(rows[0]).toBe('third')
    })

    it('refuses wrong arguments', async () => {
      const { backend } = await open()
      await expect(backend.audit.append(['x'.repeat(4_097)])).rejects.toThrow(
        'entry must be text of at most 4096 characters',
      )
      await expect(backend.audit.append(Array.from({ length: 501 }, () => 'x'))).rejects.toThrow(TypeError)
      await expect(backend.audit.list(0, 1)).rejects.toThrow(TypeError)
      await expect(backend.audit.list(null, 501)).rejects.toThrow(TypeError)
    })
  })
}
