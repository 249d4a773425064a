/** @module protocol/json  The types of JSON, text that holds it, and the steps of a pointer into it. */

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [key: string]: JsonValue }
export type JsonObject = { readonly [key: string]: JsonValue }
/** Text that holds one JSON value. Stored and passed on as it is; not parsed on a hot path. */
export type JsonText = string
/** A JSON Schema 2020-12 object, made by TypeBox or by hand. */
export type JsonSchema = { readonly [keyword: string]: unknown }

/** One step of a JSON pointer, its slash in front. @see RFC 6901 section 3 */
export const pointerStep = (key: string | number): string => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`
