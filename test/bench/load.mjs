/** Load generators and latency statistics. */

/** Runs `work(i)` for i in 0..count-1 with `width` in flight (closed loop). */
export async function inFlight(count, width, work) {
  let next = 0
  await Promise.all(
    Array.from({ length: Math.min(width, count) }, async () => {
      while (next < count) await work(next++)
    }),
  )
}

export function spread(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b)
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
  return { p50: at(0.5), p99: at(0.99), max: sorted.at(-1) }
}

export const perSecond = (count, ms) => (count / ms) * 1_000

/** Checks that every ID was done exactly once. @throws with the number of lost, duplicate and unknown ones. */
export function checkDelivery(submitted, done) {
  const [expected, seen] = [new Set(submitted), new Set(done)]
  const lost = submitted.filter((id) => !seen.has(id)).length
  const doubled = done.length - seen.size
  const unknown = [...seen].filter((id) => !expected.has(id)).length
  if (expected.size !== submitted.length)
    throw new Error(`delivery was not exact: ${submitted.length - expected.size} ids were given twice`)
  if (lost + doubled + unknown > 0)
    throw new Error(
      `delivery was not exact: ${submitted.length} submitted, ${lost} lost, ${doubled} doubled, ${unknown} unknown`,
    )
}
