/** Contract of inspections that are read in pieces: they neither skip nor repeat an item. */
import { describe, expect, it } from '@jest/globals'
import type { QueueRow } from '../../../src/storage/index.ts'
import { TYPE, ids, killed, reserve, submit, task, storeFixtures } from './fixture.ts'
import type { Create } from './fixture.ts'

const KIB = 1_024
const BODY = `{"payload":"${'x'.repeat(10 * KIB)}","priority":0,"submitted_at":1}`
const NAMES = Array.from({ length: 12 }, (_, i) => `t${String(i).padStart(2, '0')}`)
const PIECE = 32 * KIB

export function pieces(name: string, create: Create): void {
  describe(`${name} backend: inspections in pieces (D82)`, () => {
    const open = storeFixtures(create)

    it('list the whole queue in one step and then load the bodies of the tasks that still exist', async () => {
      const { backend } = await open()
      await submit(backend, ...NAMES.map((id) => task(id, { body: BODY })))
      const { length, items, rest = [] } = await backend.tasks.queue(TYPE, 10, PIECE)
      expect(length).toBe(12)
      expect([...ids(items), ...ids(rest)]).toEqual(NAMES.slice(0, 10))
      expect(items).toHaveLength(3)
      expect(items.every(({ body }) => body === BODY)).toBe(true)
      await backend.tasks.ack(
        TYPE,
        (await reserve(backend, 4)).slice(3).map(({ id, token }) => ({ id, token })),
      )
      const bodies = await backend.tasks.bodies(TYPE, ids(rest), PIECE)
      // The first was acknowledged in the meantime, the second is pending.
      expect(bodies.slice(0, 2)).toEqual([null, BODY])
      expect(bodies.filter((body) => body !== null)).toHaveLength(3)
      expect(await backend.tasks.bodies('unknown', ['a'])).toEqual([null])
    })

    it('return at least one body, however large it is', async () => {
      const { backend } = await open()
      await submit(backend, task('a', { body: BODY }), task('b', { body: BODY }))
      expect((await backend.tasks.queue(TYPE, 10, 1)).items).toHaveLength(1)
      expect(await backend.tasks.bodies(TYPE, ['a', 'b'], 1)).toEqual([BODY])
      await backend.tasks.ack(TYPE, await reserve(backend))
      await killed(backend, task('c', { body: BODY }), task('d', { body: BODY }))
      expect((await backend.tasks.dead(TYPE, 10, 1)).items).toHaveLength(1)
    })

    it('page through the dead letters from the end of the last piece, even if that task was removed', async () => {
      const { backend } = await open()
      await killed(backend, ...NAMES.map((id) => task(id, { body: BODY })))
      const seen: QueueRow[] = []
      let after: number | undefined
      for (let left = 10; left > 0;) {
        const { items, next } = await backend.tasks.dead(TYPE, left, PIECE, after)
        expect(items.length).toBeLessThanOrEqual(3)
        seen.push(...items)
        left -= items.length
        if (next === undefined) break
        after = next
        await backend.tasks.applyToDead(TYPE, 'remove', [items.at(-1)?.id ?? ''])
      }
      expect(ids(seen)).toEqual(NAMES.slice(0, 10))
      expect(await backend.tasks.dead(TYPE, 10_000)).not.toHaveProperty('next')
    })

    it('read a stream forward: peek, pop, and tail from the oldest of the newest n entries', async () => {
      const { backend } = await open()
      const entries = NAMES.map((id) => JSON.stringify({ id, text: 'x'.repeat(10 * KIB) }))
      for (let i = 0; i < 12; i += 4) await backend.streams.push(TYPE, 'p', i, entries.slice(i, i + 4))
      const all = await backend.streams.peek(TYPE, 100)
      expect(await backend.streams.peek(TYPE, 100, PIECE)).toEqual(all.slice(0, 3))
      const first = await backend.streams.tail(TYPE, null, 7, PIECE)
      expect(first).toEqual({ entries: all.slice(5, 8), gap: false })
      expect(await backend.streams.tail(TYPE, first.entries.at(-1)?.id ?? '', 4, PIECE)).toEqual({
        entries: all.slice(8, 11),
        gap: false,
      })
      expect(await backend.streams.tail(TYPE, null, 2, 1)).toEqual({ entries: all.slice(10, 11), gap: false })
      const three = all.slice(0, 3).reduce((sum, { entry }) => sum + entry.length, 0)
      expect(await backend.streams.peek(TYPE, 100, three)).toEqual(all.slice(0, 3))
      expect(await backend.streams.peek(TYPE, 100, three - 1)).toEqual(all.slice(0, 2))
      expect(await backend.streams.pop(TYPE, 100, PIECE)).toEqual(all.slice(0, 3))
      expect(await backend.streams.peek(TYPE, 100, PIECE)).toEqual(all.slice(3, 6))
      expect(await backend.streams.pop(TYPE, 100)).toEqual(all.slice(3))
    })

    it('page through histories and workers', async () => {
      const { backend } = await open()
      const refs = NAMES.map((id) => ({ type: TYPE, id }))
      await backend.workers.register(
        refs.map((ref) => ({ ...ref, conn: 'm/1', instance: '', hardware: '{}', defaults: BODY })),
      )
      const [ref = { type: TYPE, id: '' }] = refs
      for (let gen = 0; gen < 5; gen += 1)
        await backend.configs.put({ ...ref, expectGen: gen, config: '{}', changed: ['slots'], actor: 'admin' })
      expect((await backend.configs.history(ref, 2, 1)).map(({ gen }) => gen)).toEqual([4, 3])
      expect(await backend.configs.history(ref, 10, 5)).toEqual([])
      const page = await backend.workers.page(TYPE, NAMES[0] ?? '', 10, PIECE)
      expect(ids(page)).toEqual(NAMES.slice(1, 4))
    })
  })
}
