/**
 * @module dashboard/palette/match
 * Matches a few letters with a text: `im04` matches `image-resizer/img-04`. A text that contains the letters side by
 * side comes before one that has them in order, and the beginning of a word before its middle.
 */

const WORD_START = /[^\p{L}\p{N}]/u
const CONTAINS = 1_000
const IN_ORDER = 500
const AT_WORD = 100

/**
 * Matches each word of the query.
 *
 * @returns a greater number for a better match; null if a word does not match.
 */
export function matchScore(query: string, text: string): number | null {
  const lower = text.toLowerCase()
  let sum = 0
  for (const word of query.toLowerCase().split(/\s+/)) {
    if (word === '') continue
    const score = wordScore(word, lower)
    if (score === null) return null
    sum += score
  }
  return sum - text.length / 10
}

function wordScore(word: string, text: string): number | null {
  const at = containedAt(word, text)
  if (at !== null) return CONTAINS + (isWordStart(text, at) ? AT_WORD : 0) - Math.min(at, AT_WORD - 1)
  return inOrderScore(word, text)
}

/** Where the text contains the word, at best at the beginning of one of its words. */
function containedAt(word: string, text: string): number | null {
  const first = text.indexOf(word)
  if (first === -1) return null
  for (let at = first; at !== -1; at = text.indexOf(word, at + 1)) if (isWordStart(text, at)) return at
  return first
}

const isWordStart = (text: string, at: number): boolean => at === 0 || WORD_START.test(text.charAt(at - 1))

/** Fewer gaps between the letters are better. */
function inOrderScore(word: string, text: string): number | null {
  let from = 0
  let gaps = 0
  for (const letter of word) {
    const at = text.indexOf(letter, from)
    if (at === -1) return null
    if (at > from || from === 0) gaps += isWordStart(text, at) ? 1 : 3
    from = at + letter.length
  }
  // Letters that are spread over the whole text match by chance.
  return gaps > word.length + 2 ? null : IN_ORDER - 10 * gaps
}
