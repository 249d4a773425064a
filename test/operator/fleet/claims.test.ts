import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { claimOf, isOrphaned, classifyClaim } from '../../../src/operator/fleet/index.ts'

const UID = '0f8fad5b-d9cb-469f-a165-70867728950e'
const own = claimOf({ namespace: 'shop', name: 'mailer-1', uid: UID })
const facts = {
  own,
  isLive: (claim: string) => claim === 'kubernetes:shop/mailer-2#11111111',
  watches: (namespace: string) => namespace === 'shop',
  hasHeldBefore: false,
  wasDeletedHere: (claim: string) => claim === 'kubernetes:shop/mailer-1#44444444',
}

describe('the claim of a resource', () => {
  it("contains the resource's name and the first characters of its uid", () => {
    expect(own).toBe('kubernetes:shop/mailer-1#0f8fad5b')
  })

  it('is 1 to 128 printable characters for every resource, and differs for two long names with the same prefix', () => {
    const name = fc.stringMatching(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/)
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z0-9]{1,63}$/), name, (namespace, long) => {
        const claim = claimOf({ namespace, name: long, uid: UID })
        expect(claim).toMatch(/^[ -~]{1,128}$/)
        expect(claim).not.toBe(claimOf({ namespace, name: long, uid: '1f8fad5b-d9cb-469f-a165-70867728950e' }))
        expect(isOrphaned(claim, { isLive: () => false, watches: (each) => each === namespace })).toBe(true)
      }),
    )
  })
})

describe('the claim of a worker', () => {
  it.each([
    [null, false, 'free'],
    [own, false, 'ours'],
    [own, true, 'ours'],
    ['kubernetes:shop/mailer-2#11111111', false, 'duplicate'],
    ['kubernetes:shop/gone#22222222', false, 'orphaned'],
    ['kubernetes:shop/gone#22222222', true, 'taken_over'],
    // The same name, before the FleetWorker was deleted and created again.
    ['kubernetes:shop/mailer-1#33333333', false, 'orphaned'],
    // A late request of that one, which a paused master executed.
    ['kubernetes:shop/mailer-1#44444444', true, 'orphaned'],
    ['kubernetes:elsewhere/mailer-1#22222222', false, 'foreign'],
    ['terraform:fleet', true, 'stray'],
    ['kubernetes:shop', false, 'stray'],
    ['kubernetes:shop/x', false, 'stray'],
    ['', false, 'stray'],
  ] as const)('%j, held before: %j, is %s', (managedBy, hasHeldBefore, claimClass) => {
    expect(classifyClaim({ ...facts, managedBy, hasHeldBefore })).toBe(claimClass)
  })

  it('is not released for a live resource, nor in a namespace that is not watched', () => {
    expect(
      ['kubernetes:shop/mailer-2#11111111', 'kubernetes:elsewhere/a#1', 'kubernetes:shop/gone#2'].map((claim) =>
        isOrphaned(claim, facts),
      ),
    ).toEqual([false, false, true])
  })
})
