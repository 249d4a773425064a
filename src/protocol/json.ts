/** @module protocol/json  Defines the types of JSON values and texts, and the steps of a JSON pointer. */

/** Any JSON value. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [key: string]: JsonValue }
/** A JSON object. */
export type JsonObject = { readonly [key: string]: JsonValue }
/** The text of one JSON value. Stored and passed on unchanged; not parsed on a hot path. */
export type JsonText = string
/** A JSON Schema 2020-12 object, made by TypeBox or by hand. */
export type JsonSchema = { readonly [keyword: string]: unknown }

/**
 * Returns one step of a JSON pointer, with the slash before it.
 *
 * @param key A key of an object, or the index of an array; its number is written in decimal.
 * @see RFC 6901 section 3
 */
export const pointerStep = (key: string | number): string =>
  `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`

/** Returns true for an object that is neither null nor an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Returns whether two values are equal as JSON: the order of keys does not count, that of arrays does, and 0 equals -0.
 *
 * @param a A value of at most {@link MAX_JSON_DEPTH} levels; undefined if it is absent.
 * @param b The value to compare it with.
 */
export function sameJson(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  if (a === b) return true
  if (Array.isArray(a) || Array.isArray(b))
    return (
      Array.isArray(a) &&
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((each: JsonValue, index) => sameJson(each, b[index] as JsonValue))
    )
  if (!isJsonObject(a) || !isJsonObject(b)) return false
  const names = Object.keys(a)
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && sameJson(a[name], b[name]))
  )
}

/**
 * Returns the JSON text of a value with the keys of its objects in order, so that equal values have the same text.
 *
 * @param value Any value that JSON can hold; it is not undefined.
 */
export const sortedJsonText = (value: unknown): JsonText => JSON.stringify(value, withSortedKeys)

function withSortedKeys(_: string, value: unknown): unknown {
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
