/** Contract of enrolment rules: their bounds and versions, and what a register does that they do not match (D141). */
import { describe, expect, it } from '@jest/globals'
import { DEFAULTS, HOSTILE, SECOND, TYPE, ref, registration, sole, storeFixtures } from './fixture.ts'
import type { Create } from './fixture.ts'
import type { Backend, EnrolmentRule, Registration } from '../../../src/storage/index.ts'

const CONFIG = '{"of":"r1"}'
const LABEL = { revision: 'r1', variant: '-', managedBy: null }

const rule = (name: string, more: Partial<EnrolmentRule> = {}): EnrolmentRule => ({
  name,
  ...LABEL,
  body: `{"of":"${name}"}`,
  ...more,
})
const putRevision = (backend: Backend, name: string, type = TYPE) =>
  backend.revisions.put(type, { name, config: CONFIG, managedBy: null, actor: 'admin' })
const versionOf = async (backend: Backend, type = TYPE) => (await backend.enrolments.list(type)).version
const namesOf = async (backend: Backend) => (await backend.enrolments.list(TYPE)).rules.map(({ name }) => name)

export function enrolments(name: string, create: Create): void {
  const opened = storeFixtures(create)
  /** A store with the revision r1. */
  const open = async () => {
    const fixture = await opened()
    await putRevision(fixture.backend, 'r1')
    return fixture
  }
  /** A register by a rule that the caller read with the newest version. */
  const enrol = async (backend: Backend, id: string, more: Partial<Registration> = {}) =>
    sole(
      await backend.workers.register([
        registration(id, 'm1/1', { defaults: CONFIG, rules: await versionOf(backend), enrolment: LABEL, ...more }),
      ]),
    )
  const rowOf = async (backend: Backend, id: string) => sole(await backend.workers.get([ref(id)]))

  describe(`${name} backend: enrolments`, () => {
    it('stores rules by type and name, and returns them by name', async () => {
      const { backend } = await open()
      await putRevision(backend, 'r2')
      await putRevision(backend, 'r1', 'other')
      expect(await backend.enrolments.list(TYPE)).toEqual({ version: '', rules: [] })
      const stored = [rule('b', { managedBy: 'kubernetes:a/b#1', variant: 'v:1' }), rule('a'), rule('a1')]
      for (const each of stored) expect(await backend.enrolments.put(TYPE, each)).toBe('stored')
      expect(await backend.enrolments.put('other', rule('a', { body: 'other' }))).toBe('stored')
      expect((await backend.enrolments.list(TYPE)).rules).toEqual([stored[1], stored[2], stored[0]])
      const replaced = rule('a', { revision: 'r2', body: 'new' })
      expect(await backend.enrolments.put(TYPE, replaced)).toBe('stored')
      expect((await backend.enrolments.list(TYPE)).rules).toEqual([replaced, stored[2], stored[0]])
      expect((await backend.enrolments.list('other')).rules).toEqual([rule('a', { body: 'other' })])
      expect(await backend.enrolments.remove(TYPE, 'a')).toBe(true)
      expect(await backend.enrolments.remove(TYPE, 'a')).toBe(false)
      expect(await backend.enrolments.remove('unknown', 'a')).toBe(false)
      expect(await namesOf(backend)).toEqual(['a1', 'b'])
    })

    it('keeps every name apart from the others', async () => {
      const { backend } = await open()
      for (const each of HOSTILE) {
        const put = rule(each, { variant: each, managedBy: each, body: each })
        expect(await backend.enrolments.put(TYPE, put)).toBe('stored')
        expect((await backend.enrolments.list(TYPE)).rules).toContainEqual(put)
      }
      expect((await namesOf(backend)).toSorted()).toEqual(HOSTILE.toSorted())
    })

    it('changes the version with each change, and with nothing else', async () => {
      const { backend, clock } = await open()
      const seen = new Set<string>()
      const isNew = async () => {
        const version = await versionOf(backend)
        const { size } = seen.add(version)
        return [version.includes(':'), size] as const
      }
      await backend.enrolments.put(TYPE, rule('a'))
      expect(await isNew()).toEqual([false, 1])
      expect(await backend.enrolments.put(TYPE, rule('a'))).toBe('unchanged')
      expect(await backend.enrolments.put(TYPE, rule('b', { revision: 'unknown' }))).toBe('unknown_revision')
      expect(await backend.enrolments.remove(TYPE, 'b')).toBe(false)
      clock.advance(SECOND)
      expect(await isNew()).toEqual([false, 1])
      for (const more of [{ body: 'x' }, { variant: 'v' }, { managedBy: 'me' }, {}]) {
        await backend.enrolments.put(TYPE, rule('a', more))
        expect(await isNew()).toEqual([false, seen.size])
      }
      expect(seen.size).toBe(5)
      await backend.enrolments.remove(TYPE, 'a')
      await isNew()
      await backend.enrolments.put(TYPE, rule('a'))
      expect(await isNew()).toEqual([false, 7])
      expect(await versionOf(backend, 'other')).toBe('')
    })

    it('returns full at 16 rules of a type, and still replaces them', async () => {
      const { backend } = await open()
      for (let n = 0; n < 16; n += 1) expect(await backend.enrolments.put(TYPE, rule(`a${n}`))).toBe('stored')
      const version = await versionOf(backend)
      expect(await backend.enrolments.put(TYPE, rule('more'))).toBe('full')
      expect(await versionOf(backend)).toBe(version)
      expect(await backend.enrolments.put(TYPE, rule('a3', { body: 'new' }))).toBe('stored')
      expect(await backend.enrolments.remove(TYPE, 'a5')).toBe(true)
      expect(await backend.enrolments.put(TYPE, rule('more'))).toBe('stored')
      expect(await namesOf(backend)).toHaveLength(16)
    })

    it('keep their revision in use until the last of them is removed', async () => {
      const { backend } = await open()
      await backend.enrolments.put(TYPE, rule('a'))
      await backend.enrolments.put(TYPE, rule('b'))
      const exists = async (round: string) => {
        for (let n = 0; n < 32; n += 1) await putRevision(backend, `${round}${n}`)
        return (await backend.revisions.get(TYPE, ['r1']))[0] !== null
      }
      expect(await exists('x')).toBe(true)
      await backend.enrolments.remove(TYPE, 'a')
      expect(await exists('y')).toBe(true)
      await backend.enrolments.remove(TYPE, 'b')
      expect(await exists('z')).toBe(false)
    })
  })

  describe(`${name} backend: workers.register with enrolment rules`, () => {
    it('creates a record with config, label and manager in one step', async () => {
      const { backend, clock } = await open()
      await backend.enrolments.put(TYPE, rule('a'))
      const managed = { enrolment: { revision: 'r1', variant: 'v1', managedBy: 'kubernetes:a/b#1' } }
      expect(await enrol(backend, 'w1', managed)).toMatchObject({ kind: 'registered', previous: null, gen: 0 })
      expect(await rowOf(backend, 'w1')).toMatchObject({
        configRevision: 'r1/v1',
        managedBy: 'kubernetes:a/b#1',
        config: { gen: 0, config: CONFIG, changedAtMs: null, actor: null },
      })
      await enrol(backend, 'w2')
      expect(await rowOf(backend, 'w2')).toMatchObject({ configRevision: 'r1/-', managedBy: null })
      const usedAtMs = clock.wallMs()
      expect(await backend.revisions.list(TYPE)).toMatchObject([
        { name: 'r1', workers: 2, firstUsedAtMs: usedAtMs, lastUsedAtMs: usedAtMs },
      ])
      await backend.configs.put({ ...ref('w2'), expectGen: 0, config: '{}', changed: [], actor: 'a' })
      expect(await rowOf(backend, 'w2')).toMatchObject({ configRevision: 'r1/*' })
    })

    it('leaves config, label and manager of a known worker as they are', async () => {
      const { backend } = await open()
      await backend.workers.register([registration('w1', 'm1/1')])
      await backend.enrolments.put(TYPE, rule('a'))
      for (const rules of [undefined, 'another', await versionOf(backend)]) {
        const again = { rules, enrolment: { ...LABEL, managedBy: 'me' } }
        expect(await enrol(backend, 'w1', again)).toMatchObject({ kind: 'registered', gen: 0 })
        expect(await rowOf(backend, 'w1')).toMatchObject({
          configRevision: null,
          managedBy: null,
          config: { config: DEFAULTS },
        })
      }
      expect(await backend.revisions.list(TYPE)).toMatchObject([{ workers: 0, lastUsedAtMs: null }])
    })

    it('creates no record by other rules than the stored ones', async () => {
      const { backend } = await open()
      const versions = ['', 'made up']
      await backend.enrolments.put(TYPE, rule('a'))
      versions.push(await versionOf(backend))
      await backend.enrolments.remove(TYPE, 'a')
      for (const rules of versions) {
        expect(await enrol(backend, 'w1', { rules })).toEqual({ kind: 'rules_changed' })
        expect(await rowOf(backend, 'w1')).toBeNull()
      }
      expect(await backend.workers.register([registration('w1', 'm1/1')])).toEqual([{ kind: 'rules_changed' }])
      expect(await enrol(backend, 'w1', { enrolment: undefined })).toMatchObject({ kind: 'registered' })
      expect(await rowOf(backend, 'w1')).toMatchObject({ configRevision: null })
    })

    it('returns one result for each worker of a call', async () => {
      const { backend } = await open()
      await backend.workers.register([registration('known', 'm1/1')])
      await backend.enrolments.put(TYPE, rule('a'))
      const rules = await versionOf(backend)
      const results = await backend.workers.register([
        registration('stale', 'm1/2'),
        registration('new', 'm1/3', { defaults: CONFIG, rules, enrolment: LABEL }),
        registration('known', 'm1/4'),
        { ...registration('new', 'm1/5'), type: 'other' },
      ])
      expect(results.map(({ kind }) => kind)).toEqual(['rules_changed', 'registered', 'registered', 'registered'])
      expect(await rowOf(backend, 'stale')).toBeNull()
      expect(await rowOf(backend, 'new')).toMatchObject({ configRevision: 'r1/-' })
    })

    it('enrols a forgotten worker again, above its kept generation (D46)', async () => {
      const { backend } = await open()
      await backend.enrolments.put(TYPE, rule('a'))
      await enrol(backend, 'w1')
      await backend.configs.put({ ...ref('w1'), expectGen: 0, config: '{}', changed: [], actor: 'a' })
      await backend.workers.forget([ref('w1')])
      expect(await enrol(backend, 'w1')).toMatchObject({ previous: null, gen: 2 })
      expect(await rowOf(backend, 'w1')).toMatchObject({ configRevision: 'r1/-', config: { gen: 2, config: CONFIG } })
      expect(await backend.revisions.list(TYPE)).toMatchObject([{ workers: 1 }])
      await backend.workers.forget([ref('w1')])
      expect(await enrol(backend, 'w1', { enrolment: undefined, defaults: DEFAULTS })).toMatchObject({ gen: 3 })
      expect(await rowOf(backend, 'w1')).toMatchObject({ configRevision: null, managedBy: null })
      expect(await backend.revisions.list(TYPE)).toMatchObject([{ workers: 0 }])
    })
  })
}
