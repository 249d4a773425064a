/** @module master/auth/token-text  Checks the text of a token, whichever setting contains it. */

/** The characters that a header can carry: visible ASCII without spaces. */
const TOKEN = /^[\x21-\x7e]+$/
/** Longer tokens do not fit into a request header. */
const MAX_TOKEN_CHARS = 4_096

/** Shorter tokens can be guessed. */
const MIN_TOKEN_CHARS = 16

/** @returns undefined if the token is long enough. */
export function shortness(token: string, where: string): string | undefined {
  return token.length < MIN_TOKEN_CHARS
    ? `${where} is shorter than ${MIN_TOKEN_CHARS} characters and can be guessed`
    : undefined
}

/** Faults of one token. They do not contain it. @param where Names the setting or the entry. */
export function tokenFaults(token: string, where: string, allowShort: boolean): readonly string[] {
  if (token === '') return [`${where} is empty`]
  if (token.length > MAX_TOKEN_CHARS) return [`${where} is longer than ${MAX_TOKEN_CHARS} characters`]
  if (!TOKEN.test(token))
    return [`${where} contains a space or a non-ASCII character, which is not allowed in a header`]
  const short = allowShort ? undefined : shortness(token, where)
  return short === undefined ? [] : [`${short}; use a longer one, or set SVC_ALLOW_SHORT_TOKENS=1`]
}
