/** @module runtime/truncate-error  Truncates error messages to the length that the protocol allows. */

/**
 * Truncates `text` to at most `maxChars` UTF-16 code units, without splitting a surrogate pair. Half of a pair cannot
 * be encoded as UTF-8, so a peer could reject the whole message. Unpaired surrogates inside the text become U+FFFD.
 *
 * @param maxChars 0 or more.
 * @returns `text` itself when it is short enough and well-formed.
 */
export function truncateError(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text.toWellFormed()
  return text
    .slice(0, maxChars)
    .replace(/[\uD800-\uDBFF]$/, '')
    .toWellFormed()
}
