/**
 * @module dashboard/dead/reading
 * Decides how many dead letters to read: 100 at first, then twice as many each time while the response stays small.
 */
export const FIRST_N = 100
const MOST_N = 10_000
const LIGHT_RESPONSE_CHARACTERS = 1_000_000

/**
 * @param n Number of items requested last.
 * @param got Number of items received.
 * @param length Number of items in the queue.
 * @param characters Returns the size of the response.
 * @returns the number of items to request next.
 */
export function nextN(n: number, got: number, length: number, characters: () => number): number {
  if (got >= length || got < n || n >= MOST_N || characters() * 2 > LIGHT_RESPONSE_CHARACTERS) return n
  return Math.min(n * 2, MOST_N)
}
