import { describe, expect, it } from '@jest/globals'
import { compareText } from '../../src/runtime/index.ts'

describe('compareText', () => {
  it('sorts a smaller text first', () => {
    expect(compareText('a', 'b')).toBe(-1)
    expect(compareText('b', 'a')).toBe(1)
    expect(compareText('a', 'ab')).toBe(-1)
  })

  it('returns 0 for equal texts', () => {
    expect(compareText('', '')).toBe(0)
    expect(compareText('w-1', 'w-1')).toBe(0)
  })

  it('ignores the locale: capitals sort before small letters, and accents after both', () => {
    expect(['é', 'b', 'a', 'B'].toSorted(compareText)).toEqual(['B', 'a', 'b', 'é'])
  })
})
