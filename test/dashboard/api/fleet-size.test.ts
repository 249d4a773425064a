import { describe, expect, it } from '@jest/globals'
import { fleetSizeOf, type FleetSize } from '../../../src/dashboard/api/fleet-size.ts'
import type { OverviewBody } from '../../../src/protocol/index.ts'

const overviewOf = (...totals: readonly number[]): OverviewBody =>
  ({
    ts: 1,
    automations: Object.fromEntries(totals.map((total, n) => [`type-${n}`, { workers: { total } }])),
  }) as unknown as OverviewBody

describe('the size of a fleet', () => {
  it.each<readonly [FleetSize, readonly number[], FleetSize]>([
    ['unknown', [], 'small'],
    ['unknown', [500], 'small'],
    ['unknown', [300, 201], 'large'],
    ['small', [450], 'small'],
    ['large', [450], 'large'],
    ['large', [399], 'small'],
  ])('after %s, with %p workers, is %3$s', (last, totals, size) => {
    expect(fleetSizeOf(overviewOf(...totals), last)).toBe(size)
  })
})
