/** @module dashboard/parts/json-text  JSON values as text, and equal or not. */
import type { JsonValue } from '../../protocol/index.ts'

export const prettyJson = (value: unknown): string => JSON.stringify(value, null, 2)

/** At most `limit` characters, with the rest counted; characters are never split. */
export function cutText(text: string, limit: number): string {
  if (text.length <= limit) return text
  const head = text.slice(0, limit).replace(/[\uD800-\uDBFF]$/, '')
  return `${head}… (${text.length - head.length} more characters)`
}

/** The position of a fault in JSON text, as the parser tells it. */
export function parseJson(text: string): { readonly value: JsonValue } | { readonly fault: string } {
  if (text.trim() === '') return { fault: 'expected JSON, got nothing' }
  try {
    return { value: JSON.parse(text) as JsonValue }
  } catch (error) {
    return { fault: `not JSON: ${(error as Error).message}` }
  }
}

/** Equal by value; the order of an object's keys does not matter. */
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
