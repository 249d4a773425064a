import { describe, expect, it } from '@jest/globals'
import { formatPair, pairOf } from '../../../src/dashboard/config/pair.ts'
import { stillTrue } from '../../../src/dashboard/config/verdict.ts'

const error = (path: string) => ({ path, message: 'is wrong', keyword: 'x', params: {} })

describe('a verdict of the master', () => {
  const asked = { slots: 5_000, list: [1] }

  it('holds for a field while its change is the one that was asked about', () => {
    const errors = [error('/slots'), error('/list/0')]
    expect(stillTrue(errors, asked, { slots: 5_000, list: [2] })).toEqual([error('/slots')])
    expect(stillTrue(errors, asked, { list: [1], host: 'x' })).toEqual([error('/list/0')])
  })

  it('on fields that were not changed, or on none, holds for the very same patch', () => {
    const errors = [error('/missing'), error('')]
    expect(stillTrue(errors, asked, { list: [1], slots: 5_000 })).toEqual(errors)
    expect(stillTrue(errors, asked, { slots: 5_000 })).toEqual([])
  })
})

describe('two generations in the address', () => {
  it('are the newest against the one before, unless the address names others that are kept', () => {
    expect(pairOf('', [14, 13, 12])).toEqual({ from: 13, to: 14 })
    expect(pairOf('12..13', [14, 13, 12])).toEqual({ from: 12, to: 13 })
    expect(pairOf('3..13', [14, 13, 12])).toEqual({ from: 13, to: 13 })
    expect(pairOf('x', [1])).toEqual({ from: 1, to: 1 })
  })

  it('stand there as they are read', () => {
    expect(pairOf(formatPair({ from: 1, to: 2 }), [2, 1])).toEqual({ from: 1, to: 2 })
  })
})
