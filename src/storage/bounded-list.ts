/**
 * @module storage/bounded-list
 * Bounds the lists that a call returns: in items and in characters, with one item at least (D82).
 */

/**
 * Takes the first items that fit. Ends the iteration at the last one, so nothing more is read than is returned.
 *
 * @param maxChars A single larger item is taken if it is the first.
 * @param maxItems 1 or more.
 */
export function takeWithin<T>(
  items: Iterable<T>,
  sizeOf: (item: T) => number,
  maxChars: number,
  maxItems = Infinity,
): T[] {
  const taken: T[] = []
  let chars = 0
  for (const item of items) {
    chars += sizeOf(item)
    if (taken.length > 0 && chars > maxChars) break
    taken.push(item)
    if (taken.length >= maxItems) break
  }
  return taken
}
