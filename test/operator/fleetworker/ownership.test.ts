import { describe, expect, it } from '@jest/globals'
import { INDICES, keptSpec, rivalKeys, type FleetWorkerObject } from '../../../src/operator/fleetworker/index.ts'
import { WritableCache } from '../../../src/operator/kube/index.ts'
import { fleetWorker } from './samples.ts'

function object(name: string, workerID: string, uid = name): FleetWorkerObject {
  const { metadata, spec } = fleetWorker({ workerID }, name)
  return { metadata: { ...metadata, uid, resourceVersion: '1' }, spec }
}

const all = (): boolean => true

describe('rivalKeys', () => {
  it('returns the other resources of a worker when one is created, deleted, or replaced', () => {
    const cache = new WritableCache<FleetWorkerObject>(INDICES)
    const [a, b, other] = [object('a', 'w1'), object('b', 'w1'), object('c', 'w2')]
    for (const each of [a, other]) cache.offer(each)
    const came = cache.offer(b)
    expect(came && rivalKeys(came, cache, all)).toEqual(['default/a'])
    const edited = cache.offer({ ...b, metadata: { ...b.metadata, generation: 9 } })
    expect(edited && rivalKeys(edited, cache, all)).toEqual([])
    const replaced = cache.offer(object('b', 'w2', 'another'))
    expect(replaced && rivalKeys(replaced, cache, all)).toEqual(['default/a', 'default/c'])
    const gone = cache.remove(a)
    expect(gone && rivalKeys(gone, cache, all)).toEqual([])
  })

  it('finds a rival that names the worker by the old name of the field', () => {
    const cache = new WritableCache<FleetWorkerObject>(INDICES)
    const { metadata, spec } = fleetWorker({ workerId: 'w1' }, 'old')
    cache.offer({ metadata: { ...metadata, resourceVersion: '1' }, spec })
    const came = cache.offer(object('new', 'w1'))
    expect(came && rivalKeys(came, cache, all)).toEqual(['default/old'])
  })

  it('also returns them when a resource becomes applicable or stops being applicable', () => {
    const cache = new WritableCache<FleetWorkerObject>(INDICES, keptSpec)
    const [a, b] = [object('a', 'w1'), object('b', 'w1')]
    for (const each of [a, b]) cache.offer(each)
    let generation = 10
    const after = (metadata: object, spec: object, permits = all): readonly string[] | undefined => {
      generation += 1
      const change = cache.offer({
        ...a,
        metadata: { ...a.metadata, generation, resourceVersion: String(generation), ...metadata },
        spec: { ...a.spec, ...spec },
      })
      return change && rivalKeys(change, cache, permits)
    }
    expect(after({}, { slots: 2 })).toEqual([])
    expect(after({}, { suspend: true })).toEqual(['default/b'])
    expect(after({}, { suspend: true, slots: 3 })).toEqual([])
    expect(after({}, {})).toEqual(['default/b'])
    expect(after({}, { slots: -1 })).toEqual(['default/b'])
    expect(after({}, {})).toEqual(['default/b'])
    // It was not permitted before either.
    expect(after({ deletionTimestamp: '2026-01-01T00:00:00Z' }, {}, () => false)).toEqual([])
    expect(after({}, {})).toEqual(['default/b'])
    expect(after({ deletionTimestamp: '2026-01-01T00:00:00Z' }, {})).toEqual(['default/b'])
  })
})
