import { describe, expect, it } from '@jest/globals'
import { claimFor, DeletedClaims, type FleetWorkerObject } from '../../../src/operator/fleetworker/index.ts'
import { fleetWorker } from './samples.ts'

const withUid = (uid: string, name = 'w1'): FleetWorkerObject => {
  const { metadata, ...rest } = fleetWorker({}, name)
  return { ...rest, metadata: { ...metadata, uid, resourceVersion: '1' } }
}
const [first, second] = [withUid('u-1'), withUid('u-2')]

describe('the claims of deleted FleetWorkers', () => {
  it('are those of deleted objects, and of objects that another one of the name replaced', () => {
    const claims = new DeletedClaims()
    claims.onChange({ before: undefined, after: first })
    claims.onChange({ before: first, after: { ...first, spec: { type: 'other' } } })
    expect(claims.has(claimFor(first))).toBe(false)
    claims.onChange({ before: first, after: second })
    expect([claims.has(claimFor(first)), claims.has(claimFor(second))]).toEqual([true, false])
    claims.onChange({ before: second, after: undefined })
    expect([claims.has(claimFor(second)), claims.has(claimFor(withUid('u-3')))]).toEqual([true, false])
  })

  it('are remembered for as many as a large fleet has', () => {
    const claims = new DeletedClaims()
    for (let at = 0; at <= 10_000; at += 1) claims.onChange({ before: withUid('u-1', `w${at}`), after: undefined })
    expect([0, 1, 10_000].map((at) => claims.has(claimFor(withUid('u-1', `w${at}`))))).toEqual([false, true, true])
  })
})
