/**
 * @module operator/fleetworkerset/gates/intervals
 * Computes confidence intervals of shares, of differences of shares, of ratios of rates and of quantiles. `z` is the
 * quantile of the normal distribution: 3.09 leaves 0.1 % on one side, 4 leaves 0.003 %. Counts need not be integers,
 * because judge.ts lowers them by a design effect.
 *
 *   share       Wilson's score interval (1927)
 *   difference  Newcombe's hybrid score interval (Statistics in Medicine 17, 1998, pages 873-890, method 10)
 *   ratio       two Poisson counts, given their sum (Przyborowski and Wilenski, Biometrika 31, 1940): the first one is
 *               binomial, so Wilson's interval of its share becomes one of the ratio
 *   quantile    order statistics: how many of n values are below a quantile is binomial; the normal approximation has
 *               the term of Cornish and Fisher for its skewness
 */

export interface Interval {
  readonly lower: number
  readonly upper: number
}

/** A share: `count` of `total`. */
export interface Share {
  readonly count: number
  readonly total: number
}

/** A number of events within an exposure: a number of runs, or a time. */
export interface Rate {
  readonly count: number
  readonly exposure: number
}

export const valueOf = ({ count, total }: Share): number => (total === 0 ? 0 : count / total)

/** @returns bounds of the share within 0 and 1; all of it for 0 of 0. */
export function shareInterval(share: Share, z: number): Interval {
  const { total } = share
  if (total === 0) return { lower: 0, upper: 1 }
  const p = valueOf(share)
  const scale = 1 + z ** 2 / total
  const center = (p + z ** 2 / (2 * total)) / scale
  const half = (z / scale) * Math.sqrt((p * (1 - p)) / total + z ** 2 / (4 * total ** 2))
  // Exact at both ends, where rounding would leave a difference of about 1e-17.
  return { lower: p === 0 ? 0 : Math.max(center - half, 0), upper: p === 1 ? 1 : Math.min(center + half, 1) }
}

/** @returns bounds of the first share minus the second. */
export function differenceInterval(first: Share, second: Share, z: number): Interval {
  const [p, q] = [valueOf(first), valueOf(second)]
  const [a, b] = [shareInterval(first, z), shareInterval(second, z)]
  return {
    lower: p - q - Math.hypot(p - a.lower, b.upper - q),
    upper: p - q + Math.hypot(a.upper - p, q - b.lower),
  }
}

/** @returns bounds of the first rate divided by the second; `upper` may be Infinity. Both exposures are above 0. */
export function ratioInterval(first: Rate, second: Rate, z: number): Interval {
  const { lower, upper } = shareInterval({ count: first.count, total: first.count + second.count }, z)
  const scale = second.exposure / first.exposure
  return { lower: scale * oddsOf(lower), upper: scale * oddsOf(upper) }
}

const oddsOf = (share: number): number => (share === 1 ? Infinity : share / (1 - share))

/**
 * Selects the order statistics that bound a quantile.
 *
 * @param quantile From 0 to 1, both excluded.
 * @param total The number of values, above 0.
 * @returns shares of the ordered values: 0 or less, or more than 1, if no value is a bound on that side.
 */
export function quantileShares(quantile: number, total: number, z: number): Interval {
  const deviation = Math.sqrt(total * quantile * (1 - quantile))
  const center = total * quantile + ((z ** 2 - 1) * (1 - 2 * quantile)) / 6
  return {
    lower: (center - z * deviation) / total,
    upper: mayAllBeBelow(quantile, total, z) ? Infinity : (center + z * deviation + 1) / total,
  }
}

/**
 * Whether even the greatest value is no upper bound: all values are below the quantile with the probability
 * quantile^total, which is compared with the tail of the normal distribution above z (Mills' ratio).
 */
const mayAllBeBelow = (quantile: number, total: number, z: number): boolean =>
  -Math.log(quantile) * total < z ** 2 / 2 + Math.log(z * Math.sqrt(2 * Math.PI))
