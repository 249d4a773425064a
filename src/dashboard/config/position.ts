/**
 * @module dashboard/config/position
 * Finds the position of the first syntax error in JSON text. The messages of `JSON.parse` differ between browsers.
 */

export interface Position {
  readonly line: number
  readonly column: number
}

const WHITE = /[ \t\r\n]*/y
// oxlint-disable-next-line no-control-regex -- JSON forbids control characters in strings
const STRING = /"(?:[^"\\\u0000-\u001F]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/
const TOKEN = new RegExp(`${STRING.source}|${NUMBER.source}|true|false|null|[[\\]{},:]`, 'y')

/** @returns null if the text is valid JSON. */
export function faultPosition(text: string): Position | null {
  try {
    JSON.parse(text)
    return null
  } catch {
    return positionOf(text, faultIndex(text))
  }
}

function positionOf(text: string, index: number): Position {
  const before = text.slice(0, index).split('\n')
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }
}

type Expected = 'value' | 'value or ]' | 'key' | 'key or }' | ':' | ', or end'

/** Parses tokens until one does not match the grammar. @returns its index. */
function faultIndex(text: string): number {
  const open: string[] = []
  let expected: Expected = 'value'
  for (let index = skipWhite(text, 0); index < text.length;) {
    TOKEN.lastIndex = index
    const token = TOKEN.exec(text)?.[0]
    const next: Expected | null = token === undefined ? null : after(token, expected, open)
    if (token === undefined || next === null) return index
    expected = next
    index = skipWhite(text, index + token.length)
  }
  return text.length
}

function skipWhite(text: string, index: number): number {
  WHITE.lastIndex = index
  return index + (WHITE.exec(text)?.[0].length ?? 0)
}

/** @returns what may follow the token; null if the token is not allowed here. */
function after(token: string, expected: Expected, open: string[]): Expected | null {
  switch (expected) {
    case 'value or ]':
      return token === ']' ? closed(open, '[') : afterValue(token, open)
    case 'value':
      return afterValue(token, open)
    case 'key or }':
      return token === '}' ? closed(open, '{') : afterKey(token)
    case 'key':
      return afterKey(token)
    case ':':
      return token === ':' ? 'value' : null
    case ', or end':
      return afterItem(token, open)
  }
}

function afterKey(token: string): Expected | null {
  return token.startsWith('"') ? ':' : null
}

function afterValue(token: string, open: string[]): Expected | null {
  if (token === '{' || token === '[') {
    open.push(token)
    return token === '{' ? 'key or }' : 'value or ]'
  }
  return /^[\]},:]$/.test(token) ? null : ', or end'
}

function afterItem(token: string, open: string[]): Expected | null {
  if (token === ',') return afterComma(open.at(-1))
  if (token === '}' || token === ']') return closed(open, token === '}' ? '{' : '[')
  return null
}

function afterComma(opener: string | undefined): Expected | null {
  if (opener === undefined) return null
  return opener === '{' ? 'key' : 'value'
}

function closed(open: string[], opener: string): Expected | null {
  return open.pop() === opener ? ', or end' : null
}
