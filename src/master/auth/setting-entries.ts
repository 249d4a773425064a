/** @module master/auth/setting-entries  Checks what the entries of SVC_TOKENS and of SVC_JWT_ISSUERS have in common. */
import { isWorkerId, SCOPED_PERMISSIONS, TYPE_PATTERN } from '../../protocol/index.ts'

/** An entry as it was read. */
export type Entry = Readonly<Record<string, unknown>>

const NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/
const TYPE = new RegExp(TYPE_PATTERN)

/** @returns undefined if the text is not JSON. The parser's message would quote the text, and with it tokens. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export const isEntry = (value: unknown): value is Entry =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** @returns a fault if the entry has a key that is not known; null if it has none. */
export function unknownKey(entry: Entry, known: readonly string[], where: string): string | null {
  return Object.keys(entry).every((key) => known.includes(key))
    ? null
    : `${where} has an unknown key; known: ${known.join(', ')}`
}

/** Whether a value is a list with at least one element, and all of them are right. */
export const isListOf =
  (isEach: (each: unknown) => boolean) =>
  (value: unknown): boolean =>
    Array.isArray(value) && value.length > 0 && value.every((each) => isEach(each))

export const isName = (value: unknown): boolean => typeof value === 'string' && NAME.test(value)

/** Whether a value is the name of an automation type, or `*` for every type. */
export const isType = (value: unknown): boolean => typeof value === 'string' && (value === '*' || TYPE.test(value))

/** Whether a value is a permission that may be given to a token with limits. */
export const isPermission = (value: unknown): boolean => SCOPED_PERMISSIONS.some((known) => known === value)

/** Whether a value is a worker id, or the beginning of one with `*` as its last character. */
export function isWorkerPattern(value: unknown): boolean {
  if (typeof value !== 'string') return false
  const literal = value.endsWith('*') ? value.slice(0, -1) : value
  return !literal.includes('*') && (value === '*' || isWorkerId(literal))
}
