import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { fitting, shareWidth } from '../../../src/dashboard/workers/column-widths.ts'

const NAME = { name: 'name', least: 140, best: 320, rank: 9 }
const TYPE = { name: 'type', least: 90, best: 190, rank: 1 }
const ERROR = { name: 'error', least: 160, best: 600, rank: 5 }

describe('the columns of the list of workers', () => {
  it('show their whole content if there is space, and the last one takes the rest', () => {
    expect(shareWidth([NAME, TYPE, ERROR], 1_500)).toEqual([320, 190, 990])
  })

  it('share what is missing in proportion to what they need', () => {
    expect(shareWidth([NAME, TYPE, ERROR], 390 + 360)).toEqual([230, 140, 380])
  })

  it('are left out by importance while they do not fit', () => {
    expect(fitting([NAME, TYPE, ERROR], 390).map(({ name }) => name)).toEqual(['name', 'type', 'error'])
    expect(fitting([NAME, TYPE, ERROR], 389).map(({ name }) => name)).toEqual(['name', 'error'])
    expect(fitting([NAME, TYPE, ERROR], 200).map(({ name }) => name)).toEqual(['name'])
  })

  it('fill the width exactly, each with its least width', () => {
    const wish = fc.record({ least: fc.nat(300), best: fc.nat(1_200), rank: fc.nat(9) })
    fc.assert(
      fc.property(
        fc.array(wish, { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 3_600, max: 5_000 }),
        (all, width) => {
          const widths = shareWidth(all, width)
          expect(widths.reduce((sum, each) => sum + each, 0)).toBe(width)
          widths.forEach((each, at) => expect(each).toBeGreaterThanOrEqual(all[at]?.least ?? 0))
        },
      ),
    )
  })
})
