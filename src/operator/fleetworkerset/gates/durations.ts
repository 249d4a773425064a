/**
 * @module operator/fleetworkerset/gates/durations
 * Reads quantiles from the number of runs in each bucket of durations. Bucket `i` ends at 2^(i/4) ms, so a quantile is
 * between two values that differ by 19 %; between them it is interpolated. Runs below 1 ms count as 1 ms.
 */
import { RUN_MS_BUCKETS } from '../../../protocol/index.ts'

const BUCKETS_PER_DOUBLING = 4
/** Has all runs above 49 minutes, whatever they took. */
export const LAST_BUCKET = RUN_MS_BUCKETS - 1

export const totalOf = (buckets: readonly number[]): number => buckets.reduce((sum, count) => sum + count, 0)

/**
 * Finds the bucket of an order statistic.
 *
 * @param share Which one, as a share of all runs: 0.95 is the duration that 95 % of the runs do not exceed.
 * @returns the index of the bucket; 0 for a share of 0 or less. `undefined` above 1, or without runs.
 */
export function bucketAt(buckets: readonly number[], share: number): number | undefined {
  const total = totalOf(buckets)
  if (total === 0 || share > 1) return undefined
  if (share <= 0) return 0
  const rank = share * total
  let below = 0
  for (const [index, count] of buckets.entries()) {
    below += count
    if (below >= rank) return index
  }
  return buckets.findLastIndex((count) => count > 0)
}

/** @returns the quantile in milliseconds; `undefined` without runs. */
export function quantileMs(buckets: readonly number[], quantile: number): number | undefined {
  const index = bucketAt(buckets, quantile)
  if (index === undefined) return undefined
  if (index === 0) return 1
  const below = totalOf(buckets.slice(0, index))
  const inside = (quantile * totalOf(buckets) - below) / (buckets[index] ?? 1)
  return 2 ** ((index - 1 + Math.min(Math.max(inside, 0), 1)) / BUCKETS_PER_DOUBLING)
}
