/** @module dashboard/components/json-text  Formats, parses and compares JSON values. */
import type { JsonValue } from '../../protocol/index.ts'

export const prettyJson = (value: unknown): string => JSON.stringify(value, null, 2)

/** Truncates to `limit` characters and appends the number of omitted ones. Surrogate pairs are not split. */
export function cutText(text: string, limit: number): string {
  if (text.length <= limit) return text
  const head = text.slice(0, limit).replace(/[\uD800-\uDBFF]$/, '')
  return `${head}… (${text.length - head.length} more characters)`
}

/** Parses JSON text. @returns the value, or the parser's error message. */
export function parseJson(text: string): { readonly value: JsonValue } | { readonly fault: string } {
  if (text.trim() === '') return { fault: 'expected JSON, got nothing' }
  try {
    return { value: JSON.parse(text) as JsonValue }
  } catch (error) {
    return { fault: `invalid JSON: ${(error as Error).message}` }
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
