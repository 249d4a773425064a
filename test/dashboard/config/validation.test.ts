import { describe, expect, it } from '@jest/globals'
import { formatPair, pairOf } from '../../../src/dashboard/config/pair.ts'
import { applicableErrors } from '../../../src/dashboard/config/validation.ts'

const error = (path: string) => ({ path, message: 'is wrong', keyword: 'x', params: {} })

describe('validation errors of the master', () => {
  const asked = { slots: 5_000, list: [1] }

  it('apply to a field while its change equals the validated one', () => {
    const errors = [error('/slots'), error('/list/0')]
    expect(applicableErrors(errors, asked, { slots: 5_000, list: [2] })).toEqual([error('/slots')])
    expect(applicableErrors(errors, asked, { list: [1], host: 'x' })).toEqual([error('/list/0')])
  })

  it('of unchanged fields, or of no field, apply only to an identical patch', () => {
    const errors = [error('/missing'), error('')]
    expect(applicableErrors(errors, asked, { list: [1], slots: 5_000 })).toEqual(errors)
    expect(applicableErrors(errors, asked, { slots: 5_000 })).toEqual([])
  })
})

describe('the two generations in the address', () => {
  it('default to the newest and the one before it', () => {
    expect(pairOf('', [14, 13, 12])).toEqual({ from: 13, to: 14 })
    expect(pairOf('12..13', [14, 13, 12])).toEqual({ from: 12, to: 13 })
    expect(pairOf('3..13', [14, 13, 12])).toEqual({ from: 13, to: 13 })
    expect(pairOf('x', [1])).toEqual({ from: 1, to: 1 })
  })

  it('are parsed as they were formatted', () => {
    expect(pairOf(formatPair({ from: 1, to: 2 }), [2, 1])).toEqual({ from: 1, to: 2 })
  })
})
