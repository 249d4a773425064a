import { describe, expect, it } from '@jest/globals'
import { countsOf, leaseOf, type PoolItem } from '../../../src/dashboard/pools/lease.ts'

const item = (until: number | null): PoolItem => ({
  id: 'a',
  tags: {},
  payload: {},
  expires_at: null,
  in_use_until: until,
})

describe('the lease of a pool item', () => {
  it('is free, claimed until a time, or expired at that time', () => {
    expect(leaseOf(item(null), 100)).toEqual({ kind: 'free' })
    expect(leaseOf(item(100.5), 100)).toEqual({ kind: 'claimed', until: 100.5 })
    expect(leaseOf(item(100), 100)).toEqual({ kind: 'ran_out', until: 100 })
  })

  it('counts an item with an expired claim as free', () => {
    expect(countsOf([item(null), item(50), item(200)], 100)).toEqual({ claimed: 1, free: 2 })
  })
})
