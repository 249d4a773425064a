/** Robust statistics of a series: the slope of Theil and Sen, medians, and the change from its start to its end. */

export interface Point {
  readonly x: number
  readonly y: number
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? 0
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2
}

/** A quarter of the values is below it. */
export const lowerQuartile = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 4)] ?? 0

/** The median of the slopes between all pairs of points: a few outliers do not change it. */
export function theilSen(points: readonly Point[]): number {
  const slopes: number[] = []
  for (const [i, a] of points.entries())
    for (const b of points.slice(i + 1)) if (b.x !== a.x) slopes.push((b.y - a.y) / (b.x - a.x))
  return median(slopes)
}

/** The medians of the first and of the last third of a series. */
export function startAndEnd(values: readonly number[]): { readonly start: number; readonly end: number } {
  const third = Math.max(1, Math.floor(values.length / 3))
  return { start: median(values.slice(0, third)), end: median(values.slice(-third)) }
}
