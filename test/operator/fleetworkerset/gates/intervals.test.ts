/** Tests the confidence intervals against published examples, and quantiles against the exact binomial distribution. */
import { describe, expect, it } from '@jest/globals'
import {
  differenceInterval,
  quantileShares,
  ratioInterval,
  shareInterval,
} from '../../../../src/operator/fleetworkerset/gates/intervals.ts'

/** Two-sided 95 %. */
const Z = 1.959964

describe('shareInterval', () => {
  // Newcombe, "Two-sided confidence intervals for the single proportion: comparison of seven methods", Statistics in
  // Medicine 17 (1998), pages 857-872, table I, method 3 (score).
  it.each([
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
  ])('is the published interval of %d of %d', (count, total, lower, upper) => {
    const interval = shareInterval({ count, total }, Z)
    expect(interval.lower).toBeCloseTo(lower, 4)
    expect(interval.upper).toBeCloseTo(upper, 4)
  })

  it('is everything for 0 of 0, and ends at 0 and 1 exactly', () => {
    expect(shareInterval({ count: 0, total: 0 }, Z)).toEqual({ lower: 0, upper: 1 })
    expect(shareInterval({ count: 0, total: 7 }, Z).lower).toBe(0)
    expect(shareInterval({ count: 7, total: 7 }, Z).upper).toBe(1)
  })

  it('stays ordered and finite up to 2^53', () => {
    const total = Number.MAX_SAFE_INTEGER
    for (const count of [0, 1, total / 2, total - 1, total]) {
      const { lower, upper } = shareInterval({ count, total }, 4)
      expect(lower).toBeGreaterThanOrEqual(0)
      expect(lower).toBeLessThanOrEqual(count / total)
      expect(upper).toBeGreaterThanOrEqual(count / total)
      expect(upper).toBeLessThanOrEqual(1)
    }
  })
})

describe('differenceInterval', () => {
  // Newcombe, "Interval estimation for the difference between independent proportions: comparison of eleven methods",
  // Statistics in Medicine 17 (1998), pages 873-890, table II, method 10 (square and add, Wilson).
  it.each([
    [56, 70, 48, 80, 0.0524, 0.3339],
    [9, 10, 3, 10, 0.1705, 0.809],
    [6, 7, 2, 7, 0.0582, 0.8062],
    [5, 56, 0, 29, -0.0381, 0.1926],
    [0, 10, 0, 20, -0.1611, 0.2775],
    [0, 10, 0, 10, -0.2775, 0.2775],
    [10, 10, 0, 20, 0.6791, 1],
    [10, 10, 0, 10, 0.6075, 1],
  ])('is the published interval of %d/%d - %d/%d', (a, m, b, n, lower, upper) => {
    const interval = differenceInterval({ count: a, total: m }, { count: b, total: n }, Z)
    expect(interval.lower).toBeCloseTo(lower, 4)
    expect(interval.upper).toBeCloseTo(upper, 4)
  })

  it('never excludes 0 without data', () => {
    const nothing = { count: 0, total: 0 }
    expect(differenceInterval({ count: 9, total: 10 }, nothing, Z).lower).toBeLessThan(0)
    expect(differenceInterval(nothing, { count: 1, total: 10 }, Z).lower).toBeLessThan(0)
    expect(differenceInterval(nothing, nothing, Z)).toEqual({ lower: -1, upper: 1 })
  })
})

describe('ratioInterval', () => {
  // Gu, Ng, Tang and Schucany, "Testing the ratio of two Poisson rates", Biometrical Journal 50 (2008), example 1:
  // heart disease with and without hormones, in person-years. poisson.exact of the R package exactci returns
  // 1.34983 to 3.27765; a score interval is a little narrower.
  it('is near the exact interval of a published example', () => {
    const { lower, upper } = ratioInterval({ count: 60, exposure: 51_477.5 }, { count: 30, exposure: 54_308.7 }, Z)
    expect(lower / 1.34983).toBeGreaterThan(1)
    expect(lower / 1.34983).toBeLessThan(1.015)
    expect(upper / 3.27765).toBeLessThan(1)
    expect(upper / 3.27765).toBeGreaterThan(0.985)
  })

  it('has no upper bound against a count of 0, and a lower one only with enough events', () => {
    const none = { count: 0, exposure: 10 }
    expect(ratioInterval({ count: 5, exposure: 10 }, none, 3.09)).toEqual({
      lower: expect.any(Number),
      upper: Infinity,
    })
    expect(ratioInterval({ count: 9, exposure: 10 }, none, 3.09).lower).toBeLessThan(1)
    expect(ratioInterval({ count: 10, exposure: 10 }, none, 3.09).lower).toBeGreaterThan(1)
    expect(ratioInterval(none, none, 3.09)).toEqual({ lower: 0, upper: Infinity })
  })
})

/** @returns P(X <= k) of a binomial distribution. */
function binomialBelow(k: number, n: number, p: number): number {
  let logTerm = n * Math.log1p(-p)
  let sum = 0
  for (let i = 0; i <= k; i += 1) {
    sum += Math.exp(logTerm)
    logTerm += Math.log((n - i) / (i + 1)) + Math.log(p) - Math.log1p(-p)
  }
  return sum
}

describe('quantileShares', () => {
  it.each([
    [0.5, 40],
    [0.5, 1_000],
    [0.9, 200],
    [0.95, 200],
    [0.95, 480],
    [0.99, 700],
    [0.99, 5_000],
  ])('selects bounds of the quantile %d of %d values that are wrong in at most 0.15 %%', (quantile, n) => {
    const { lower, upper } = quantileShares(quantile, n, 3.09)
    // The lower bound is wrong if fewer values than its rank are below the quantile; the upper one if more are.
    const tooHigh = binomialBelow(Math.ceil(lower * n) - 1, n, quantile)
    expect(tooHigh).toBeLessThan(0.0015)
    expect(tooHigh).toBeGreaterThan(0.0002)
    if (upper > 1) return
    expect(1 - binomialBelow(Math.ceil(upper * n) - 1, n, quantile)).toBeLessThan(0.0015)
  })

  it.each([
    [0.5, 9],
    [0.9, 64],
    [0.95, 132],
    [0.99, 678],
    [0.99, 15],
  ])('has no upper bound of the quantile %d while all of %d values may be below it', (quantile, n) => {
    expect(quantile ** n).toBeGreaterThan(0.001)
    expect(quantileShares(quantile, n, 3.09).upper).toBeGreaterThan(1)
    expect(quantileShares(quantile, n, 4).upper).toBeGreaterThan(1)
  })

  it('has no lower bound while all values may be above the quantile', () => {
    expect(quantileShares(0.5, 9, 3.09).lower).toBeLessThanOrEqual(0)
  })
})
