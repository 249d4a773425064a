/** @module dashboard/components/item-count  Parses the number of items of an inspection or action. */

const MOST = 10_000

/** @returns a whole number from 1 to 10,000 (D9); null if the text is not one. */
export function readN(text: string): number | null {
  const n = Number(text)
  return /^\s*\d+\s*$/.test(text) && n >= 1 && n <= MOST ? n : null
}
