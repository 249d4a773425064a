import { describe, expect, it } from '@jest/globals'
import { priorityOf, WritableCache, type Change } from '../../../src/operator/kube/index.ts'
import { compareVersions } from '../../../src/operator/kube/cache.ts'
import { probe, type Probe } from './fixture.ts'

const cacheOf = (...objects: readonly Probe[]): WritableCache<Probe> => {
  const cache = new WritableCache<Probe>({ type: ({ spec }) => [spec?.type ?? ''] })
  for (const object of objects) cache.offer(object)
  return cache
}

describe('the cache', () => {
  it('rejects a stale view: a lower generation, or a lower version of the same generation', () => {
    const cache = cacheOf(probe('a', { generation: 3, resourceVersion: '30' }))
    expect(cache.offer(probe('a', { generation: 2, resourceVersion: '40' }))).toBeUndefined()
    expect(cache.offer(probe('a', { generation: 3, resourceVersion: '9' }))).toBeUndefined()
    expect(cache.get('ns/a')?.metadata).toMatchObject({ generation: 3, resourceVersion: '30' })
  })

  it('accepts a list that is not older than the entry, also with a lower generation, and rejects an older list', () => {
    const cache = cacheOf(probe('a', { generation: 3, resourceVersion: '30' }))
    expect(cache.offerListed(probe('a', { generation: 2, resourceVersion: '20' }), '29')).toBeUndefined()
    expect(cache.offerListed(probe('a', { generation: 2, resourceVersion: '20' }), '30')).toMatchObject({
      before: { metadata: { generation: 3 } },
      after: { metadata: { generation: 2 } },
    })
    expect(cache.offerListed(probe('a', { generation: 1, resourceVersion: '10' }), undefined)).toMatchObject({
      after: { metadata: { generation: 1 } },
    })
  })

  it('accepts another uid under the same name, and ignores the deletion of the old object', () => {
    const cache = cacheOf(probe('a', { generation: 9, uid: 'old' }))
    expect(cache.offer(probe('a', { generation: 1, uid: 'new' }))).toMatchObject({
      before: { metadata: { uid: 'old' } },
      after: { metadata: { uid: 'new' } },
    })
    expect(cache.remove(probe('a', { uid: 'old' }))).toBeUndefined()
    expect(cache.get('ns/a')?.metadata.uid).toBe('new')
  })

  it('uses the response to a write only for an object that it still contains', () => {
    const cache = cacheOf(probe('a'))
    cache.applyResponse(probe('a', { resourceVersion: '11', generation: 2 }))
    expect(cache.get('ns/a')?.metadata.generation).toBe(2)
    cache.remove(probe('a'))
    cache.applyResponse(probe('a', { resourceVersion: '12' }))
    expect(cache.get('ns/a')).toBeUndefined()
  })

  it('drops fields that are never read and keeps unknown ones', () => {
    const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': '{}', mine: 'stays' }
    const cache = cacheOf(probe('a', Object.assign({ annotations }, { managedFields: [{ manager: 'x' }], unknown: 1 })))
    expect(cache.get('ns/a')?.metadata).toEqual({ ...probe('a').metadata, annotations: { mine: 'stays' }, unknown: 1 })
  })

  it('updates its indices at edits and removals', () => {
    const cache = cacheOf(probe('a'), probe('b'))
    expect(cache.byIndex('type', 'a').map(({ metadata }) => metadata.name)).toEqual(['a', 'b'])
    cache.offer(probe('a', { generation: 2, resourceVersion: '11' }, { spec: { type: 'other' } }))
    cache.remove(probe('b'))
    expect(cache.byIndex('type', 'a')).toEqual([])
    expect(cache.byIndex('type', 'other')).toHaveLength(1)
    expect(() => cache.byIndex('typo', 'a')).toThrow('no index "typo"')
  })

  it('keeps the existing object if an equal one is seen again, and stores the spec of a generation once', () => {
    let kept = 0
    const cache = new WritableCache<Probe>({}, (spec) => {
      kept += 1
      return spec
    })
    const spec = { type: 'a' }
    cache.offer(probe('a', { resourceVersion: '10' }, { spec }))
    const first = cache.get('ns/a')
    expect(cache.offer(probe('a', { resourceVersion: '10' }, { spec: { ...spec } }))).toEqual({
      key: 'ns/a',
      before: first,
      after: first,
    })
    expect(cache.get('ns/a')).toBe(first)
    cache.offer(probe('a', { resourceVersion: '11' }, { spec: { ...spec }, status: { slots: 1 } }))
    expect([cache.get('ns/a')?.spec === first?.spec, cache.get('ns/a')?.status, kept]).toEqual([true, { slots: 1 }, 1])
    cache.offer(probe('a', { resourceVersion: '12', generation: 2 }, { spec: { type: 'b' } }))
    expect([cache.get('ns/a')?.spec, kept]).toEqual([{ type: 'b' }, 2])
    cache.offer(probe('a', { resourceVersion: '13', generation: 2, uid: 'other' }, { spec: { type: 'c' } }))
    expect([cache.get('ns/a')?.spec, kept]).toEqual([{ type: 'c' }, 3])
  })

  it('is synced once every scope is listed', () => {
    const cache = cacheOf()
    cache.expect('one')
    cache.expect('two')
    cache.listed('one')
    expect(cache.isSynced).toBe(false)
    cache.listed('two')
    expect(cache.isSynced).toBe(true)
  })
})

describe('resource versions', () => {
  it('are compared as numbers of any length, and count as newer if they are not numbers', () => {
    expect([
      compareVersions('9', '10'),
      compareVersions('10', '9'),
      compareVersions('7', '7'),
      compareVersions('99999999999999999998', '99999999999999999999'),
    ]).toEqual(['older', 'newer', 'same', 'older'])
    expect(compareVersions('abc', '10')).toBe('newer')
  })
})

describe('the priority of a change', () => {
  const options = {
    annotations: ['example.org/look'],
    isOurs: ({ status }: Probe) => (status as { ours?: boolean } | undefined)?.ours === true,
  }
  const synced = { status: { observedGeneration: 1 } }
  const from = (before: Probe | undefined, after: Probe | undefined, source: 'list' | 'watch' = 'watch') =>
    priorityOf({ key: 'ns/a', before, after } satisfies Change<Probe>, source, options)

  it('is `edit` for a new object, a new generation, another uid and the annotation', () => {
    expect(from(undefined, probe('a'))).toBe(100)
    expect(from(probe('a'), probe('a', { generation: 2 }))).toBe(100)
    expect(from(probe('a'), probe('a', { uid: 'other' }))).toBe(100)
    expect(from(probe('a'), probe('a', { annotations: { 'example.org/look': 'now' } }))).toBe(100)
  })

  it('is `deletion` when a deletion is requested, and when the object is deleted', () => {
    expect(from(probe('a'), probe('a', { deletionTimestamp: '2026-01-01T00:00:00Z', generation: 2 }))).toBe(90)
    expect(from(probe('a'), undefined)).toBe(90)
  })

  it('is `sweep` for an unchanged object of a list, unless it was edited while no replica was watching', () => {
    expect(from(probe('a', {}, synced), probe('a', {}, synced), 'list')).toBe(-100)
    expect(from(undefined, probe('a', {}, synced), 'list')).toBe(-100)
    expect(from(undefined, probe('a', { generation: 2 }, synced), 'list')).toBe(100)
    expect(from(undefined, probe('a'), 'list')).toBe(100)
  })

  it("is none for labels and for the operator's own status, and `sweep` for a status of another writer", () => {
    expect(from(probe('a', {}, synced), probe('a', { labels: { x: 'y' } }, synced))).toBeUndefined()
    expect(
      from(probe('a', {}, synced), probe('a', {}, { status: { observedGeneration: 1, ours: true } })),
    ).toBeUndefined()
    expect(from(probe('a', {}, synced), probe('a', {}, { status: { observedGeneration: 1, by: 'hand' } }))).toBe(-100)
  })
})
