import { describe, expect, it } from '@jest/globals'
import { csvLine } from '../../src/runtime/index.ts'

describe('csvLine', () => {
  it('quotes separators, quotes and line breaks only', () => {
    expect(csvLine(['a', 1, null, 'b,c', 'say "x"', 'two\nlines'])).toBe('a,1,,"b,c","say ""x""","two\nlines"')
  })

  it.each(['=1+1', '+1', '-1', '@x', '\tx'])('marks %j, which a spreadsheet would take for a formula', (text) => {
    expect(csvLine([text])).toBe(`'${text}`)
  })

  it('keeps numbers below zero', () => {
    expect(csvLine([-1])).toBe('-1')
  })
})
