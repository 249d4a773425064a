/** @module protocol/json  The types of JSON, text that holds it, and the steps of a pointer into it. */

/** Any JSON value. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [key: string]: JsonValue }
/** A JSON object. */
export type JsonObject = { readonly [key: string]: JsonValue }
/** Text that holds one JSON value. Stored and passed on as it is; not parsed on a hot path. */
export type JsonText = string
/** A JSON Schema 2020-12 object, made by TypeBox or by hand. */
export type JsonSchema = { readonly [keyword: string]: unknown }

/** One step of a JSON pointer, its slash in front. @see RFC 6901 section 3 */
export const pointerStep = (key: string | number): string =>
  `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`

/** @returns true for an object that is neither null nor an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Equality by JSON value: the order of keys is free, arrays are ordered, 0 and -0 are one number. Depth is the caller's
 * bound.
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
