import { describe, expect, it } from '@jest/globals'
import { INDICES, rivalKeys, type FleetWorkerObject } from '../../../src/operator/fleetworker/index.ts'
import { WritableCache } from '../../../src/operator/kube/index.ts'
import { fleetWorker } from './world.ts'

function object(name: string, workerId: string, uid = name): FleetWorkerObject {
  const { metadata, spec } = fleetWorker({ workerId }, name)
  return { metadata: { ...metadata, uid, resourceVersion: '1' }, spec }
}

describe('rivalKeys', () => {
  it('names the others for the same worker when a resource comes, goes, or is replaced by a namesake', () => {
    const cache = new WritableCache<FleetWorkerObject>(INDICES)
    const [a, b, other] = [object('a', 'w1'), object('b', 'w1'), object('c', 'w2')]
    for (const each of [a, other]) cache.offer(each)
    const came = cache.offer(b)
    expect(came && rivalKeys(came, cache)).toEqual(['default/a'])
    const edited = cache.offer({ ...b, metadata: { ...b.metadata, generation: 9 } })
    expect(edited && rivalKeys(edited, cache)).toEqual([])
    const replaced = cache.offer(object('b', 'w2', 'another'))
    expect(replaced && rivalKeys(replaced, cache)).toEqual(['default/a', 'default/c'])
    const gone = cache.remove(a)
    expect(gone && rivalKeys(gone, cache)).toEqual([])
  })
})
