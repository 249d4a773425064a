/** @module master/auth/token-text  What the text of a token must look like, whichever setting contains it. */

/** What a header can carry: visible ASCII without spaces. */
const TOKEN = /^[\x21-\x7e]+$/
/** Longer than any header may be: no client could ever send it. */
const MAX_TOKEN_CHARS = 4_096

/** A shorter one can be guessed. */
const MIN_TOKEN_CHARS = 16

/** Undefined: it is long enough. */
export function shortness(token: string, where: string): string | undefined {
  return token.length < MIN_TOKEN_CHARS
    ? `${where} is shorter than ${MIN_TOKEN_CHARS} characters and can be guessed`
    : undefined
}

/** Faults of one token, none of which contains it. `where` names its place in the settings. */
export function tokenFaults(token: string, where: string, allowShort: boolean): readonly string[] {
  if (token === '') return [`${where} is empty`]
  if (token.length > MAX_TOKEN_CHARS) return [`${where} is longer than ${MAX_TOKEN_CHARS} characters`]
  if (!TOKEN.test(token))
    return [`${where} contains a space or a non-ASCII character, which is not allowed in a header`]
  const short = allowShort ? undefined : shortness(token, where)
  return short === undefined ? [] : [`${short}; use a longer one, or set SVC_ALLOW_SHORT_TOKENS=1`]
}
