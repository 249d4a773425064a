/** Contract of rollout reports: their bound, their order, and when one is news (D148). */
import { describe, expect, it } from '@jest/globals'
import { HOSTILE, SECOND, TYPE, storeFixtures } from './fixture.ts'
import type { Create } from './fixture.ts'
import type { Backend, RolloutReport } from '../../../src/storage/index.ts'

const MAX = 64
const report = (name: string, more: Partial<RolloutReport> = {}): RolloutReport => ({
  name,
  head: '{"phase":"Writing"}',
  body: `{"of":"${name}"}`,
  reportedAtMs: 30 * SECOND,
  ...more,
})
const namesOf = async (backend: Backend) => (await backend.rollouts.list(TYPE)).map(({ name }) => name)

export function rollouts(name: string, create: Create): void {
  const open = storeFixtures(create)

  describe(`${name} backend: rollouts`, () => {
    it('stores reports by type and name, and returns them by name', async () => {
      const { backend } = await open()
      expect(await backend.rollouts.list(TYPE)).toEqual([])
      expect(await backend.rollouts.heads([TYPE, 'other'])).toEqual([[], []])
      const stored = [report('b', { reportedAtMs: 7 }), report('a', { head: 'x:1:y\n' }), report('a1')]
      for (const each of stored) expect(await backend.rollouts.put(TYPE, each)).toBe('changed')
      expect(await backend.rollouts.put('other', report('a', { body: 'other' }))).toBe('changed')
      expect(await backend.rollouts.list(TYPE)).toEqual([stored[1], stored[2], stored[0]])
      expect(await backend.rollouts.list('other')).toEqual([report('a', { body: 'other' })])
      expect(await backend.rollouts.heads(['other', 'unknown', TYPE])).toEqual([
        [{ name: 'a', head: report('a').head }],
        [],
        [
          { name: 'a', head: 'x:1:y\n' },
          { name: 'a1', head: report('a').head },
          { name: 'b', head: report('a').head },
        ],
      ])
    })

    it('returns changed for a new report and for another head only', async () => {
      const { backend } = await open()
      expect(await backend.rollouts.put(TYPE, report('a'))).toBe('changed')
      const again = report('a', { body: 'new', reportedAtMs: 31 * SECOND })
      expect(await backend.rollouts.put(TYPE, again)).toBe('updated')
      expect(await backend.rollouts.list(TYPE)).toEqual([again])
      for (const head of ['h2', '', '3:4', '']) {
        expect(await backend.rollouts.put(TYPE, report('a', { head }))).toBe('changed')
        expect(await backend.rollouts.put(TYPE, report('a', { head }))).toBe('updated')
      }
    })

    it('returns the head of a removed report, and null if there is none', async () => {
      const { backend } = await open()
      expect(await backend.rollouts.remove('unknown', 'a')).toBeNull()
      await backend.rollouts.put(TYPE, report('a', { head: '1:2\n:3' }))
      await backend.rollouts.put(TYPE, report('b'))
      expect(await backend.rollouts.remove(TYPE, 'a')).toBe('1:2\n:3')
      expect(await backend.rollouts.remove(TYPE, 'a')).toBeNull()
      expect(await namesOf(backend)).toEqual(['b'])
      expect(await backend.rollouts.put(TYPE, report('a', { head: '1:2\n:3' }))).toBe('changed')
    })

    it('keeps every name apart from the others', async () => {
      const { backend } = await open()
      for (const each of HOSTILE) {
        const put = report(each, { head: each, body: each })
        expect(await backend.rollouts.put(TYPE, put)).toBe('changed')
        expect(await backend.rollouts.list(TYPE)).toContainEqual(put)
      }
      expect((await namesOf(backend)).toSorted()).toEqual(HOSTILE.toSorted())
    })

    it('returns full at 64 reports of a type, and still replaces them', async () => {
      const { backend } = await open()
      for (let n = 0; n < MAX; n += 1) expect(await backend.rollouts.put(TYPE, report(`a${n}`))).toBe('changed')
      expect(await backend.rollouts.put(TYPE, report('more'))).toBe('full')
      expect(await namesOf(backend)).not.toContain('more')
      expect(await backend.rollouts.put(TYPE, report('a3', { body: 'new' }))).toBe('updated')
      expect(await backend.rollouts.put('other', report('more'))).toBe('changed')
      await backend.rollouts.remove(TYPE, 'a5')
      expect(await backend.rollouts.put(TYPE, report('more'))).toBe('changed')
      expect(await namesOf(backend)).toHaveLength(MAX)
    })
  })
}
