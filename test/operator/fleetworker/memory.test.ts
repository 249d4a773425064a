import { describe, expect, it } from '@jest/globals'
import { ReconcileMemory, type FleetWorkerObject } from '../../../src/operator/fleetworker/index.ts'
import { seededRandom } from '../../../src/runtime/index.ts'
import { fleetWorker } from './samples.ts'

const at = (generation: number, uid = 'u-1'): FleetWorkerObject => {
  const { metadata, ...rest } = fleetWorker()
  return { ...rest, metadata: { ...metadata, generation, uid, resourceVersion: '1' } }
}

describe('the memory of a term', () => {
  it('has one entry per uid, and forgets generations that the API server has lost', () => {
    const memory = new ReconcileMemory(seededRandom(1))
    const entry = memory.of(at(3))
    expect(memory.of(at(4))).toBe(entry)
    expect(memory.of(at(4))).toBe(entry)
    const older = memory.of(at(3))
    expect(older).not.toBe(entry)
    expect(memory.of(at(4))).toBe(older)
    expect(memory.of(at(4, 'u-2'))).not.toBe(older)
  })

  it('counts a resource once it was reconciled, and no longer when it is deleted', () => {
    const memory = new ReconcileMemory(seededRandom(1))
    const entry = memory.of(at(3))
    expect(memory.comparedCount).toBe(0)
    memory.markReconciled(entry)
    memory.markReconciled(entry)
    expect(memory.comparedCount).toBe(1)
    memory.forget('default/w1')
    expect(memory.comparedCount).toBe(0)
  })
})
