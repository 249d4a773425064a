/**
 * @module storage/sqlite/answer
 * Inspections end at 32 MiB of text, after one item at least, however many were asked for.
 */
import { MAX_ANSWER_BYTES } from '../../protocol/index.ts'

/** The first `n` of `found`, as many as fit. Ends the statement behind it, so nothing more is read than is answered. */
export function fitting<T>(found: Iterable<T>, sizeOf: (item: T) => number, n = Infinity): T[] {
  const items: T[] = []
  let bytes = 0
  for (const item of found) {
    bytes += sizeOf(item)
    if (items.length > 0 && bytes > MAX_ANSWER_BYTES) break
    items.push(item)
    if (items.length === n) break
  }
  return items
}
