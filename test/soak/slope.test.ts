import { describe, expect, it } from '@jest/globals'
import { median, startAndEnd, theilSen } from './slope.ts'

describe('theilSen', () => {
  const line = Array.from({ length: 60 }, (_, x) => ({ x, y: 100 + 0.25 * x }))

  it('returns the slope of a line, also with outliers', () => {
    expect(theilSen(line)).toBeCloseTo(0.25)
    expect(theilSen(line.map(({ x, y }) => ({ x, y: x % 9 === 0 ? y + 50 : y })))).toBeCloseTo(0.25, 1)
  })

  it('returns 0 without a trend', () => {
    expect(theilSen(line.map(({ x }) => ({ x, y: 100 + (x % 2) })))).toBe(0)
    expect(theilSen([])).toBe(0)
  })
})

describe('startAndEnd', () => {
  it('returns the medians of the first and the last third', () => {
    expect(startAndEnd([1, 1, 9, 5, 5, 5, 7, 8, 8])).toEqual({ start: 1, end: 8 })
    expect(median([4, 1, 3, 2])).toBe(2.5)
  })
})
