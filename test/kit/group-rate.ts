/** Checks the rate of a group of tasks, from the times at which its tasks were leased (G30). */
import type { GroupRate } from '../../src/storage/index.ts'

/**
 * How many starts are above the rate, in the window that ends with the newest start and has the most of them; 0 or less
 * if there are none.
 * @param times When tasks of the group started, by the clock of the store.
 */
export function startsAboveRate({ intervalMs, burst }: GroupRate, times: readonly number[]): number {
  const newest = times.at(-1) ?? 0
  const above = times.map((from, at) => times.length - at - burst - (newest - from) / intervalMs)
  return Math.max(...above)
}
