/** @module dashboard/components/json-text  Formats, parses and compares JSON values. */
import type { JsonValue } from '../../protocol/index.ts'

export const prettyJson = (value: unknown): string => JSON.stringify(value, null, 2)

/** Truncates to `limit` characters and appends the number of omitted ones. Surrogate pairs are not split. */
export function cutText(text: string, limit: number): string {
  if (text.length <= limit) return text
  const head = text.slice(0, limit).replace(/[\uD800-\uDBFF]$/, '')
  return `${head}… (${text.length - head.length} more characters)`
}

/** The value of a text, or the message that says why the text has none. */
export type ParsedText =
  { readonly kind: 'value'; readonly value: JsonValue } | { readonly kind: 'fault'; readonly fault: string }

/** Parses JSON text. */
export function parseJson(text: string): ParsedText {
  if (text.trim() === '') return { kind: 'fault', fault: 'expected JSON, got nothing' }
  try {
    return { kind: 'value', value: JSON.parse(text) as JsonValue }
  } catch (error) {
    return { kind: 'fault', fault: `invalid JSON: ${(error as Error).message}` }
  }
}

/** Whether two JSON values are equal; the order of object keys does not matter. */
export function sameJson(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) || Array.isArray(b)) {
    return (
      Array.isArray(a) &&
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((each: JsonValue, index) => sameJson(each, b[index] as JsonValue))
    )
  }
  const [left, right] = [a as Readonly<Record<string, JsonValue>>, b as Readonly<Record<string, JsonValue>>]
  const names = Object.keys(left)
  return (
    names.length === Object.keys(right).length &&
    names.every((name) => Object.hasOwn(right, name) && sameJson(left[name], right[name]))
  )
}
