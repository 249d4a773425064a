/** @module dashboard/parts/act-size  How many items an inspection shows or an act takes. */

const MOST = 10_000

/** A whole number of 1 to 10,000 (D9); null: the text is none. */
export function readN(text: string): number | null {
  const n = Number(text)
  return /^\s*\d+\s*$/.test(text) && n >= 1 && n <= MOST ? n : null
}
