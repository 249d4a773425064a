/** @module runtime/compare-text  Compares texts for sorting, independently of the locale. */

/**
 * Compares two texts by their UTF-16 code units, as `<` does.
 *
 * @returns -1 when `a` sorts before `b`, 1 when it sorts after `b`, 0 when they are equal.
 */
export function compareText(a: string, b: string): -1 | 0 | 1 {
  if (a === b) return 0
  return a < b ? -1 : 1
}
