/**
 * @module storage/sqlite/answer
 * Inspections end at the bound of their call, after one item at least, however many were asked for.
 */

/**
 * The first `n` of `found`, as many as fit into `limit`. Ends the statement behind it, so nothing more is read than is
 * returned.
 */
export function fitting<T>(found: Iterable<T>, sizeOf: (item: T) => number, limit: number, n = Infinity): T[] {
  const items: T[] = []
  let bytes = 0
  for (const item of found) {
    bytes += sizeOf(item)
    if (items.length > 0 && bytes > limit) break
    items.push(item)
    if (items.length === n) break
  }
  return items
}
