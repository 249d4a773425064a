/**
 * @module dashboard/dead/reading
 * How much of a dead-letter queue is read: 100 at first, twice as many the next time while that stays a light answer.
 * The groups then say over how many they were made.
 */
export const FIRST_N = 100
const MOST_N = 10_000
const LIGHT_ANSWER_CHARACTERS = 1_000_000

/** What to ask for next, after `characters` of answer brought `got` of `length` items for `n`. */
export function nextN(n: number, got: number, length: number, characters: () => number): number {
  if (got >= length || got < n || n >= MOST_N || characters() * 2 > LIGHT_ANSWER_CHARACTERS) return n
  return Math.min(n * 2, MOST_N)
}
