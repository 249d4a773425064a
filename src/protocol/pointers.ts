/**
 * @module protocol/pointers
 * Reads JSON pointers to config fields (RFC 6901), and keeps the values that stand at them:
 *
 *   putBack({a: {x: 1, y: 2}}, {a: {x: 5}}, ["a", "x"])   {a: {x: 5, y: 2}}
 */
import { isJsonObject, type JsonObject, type JsonValue } from './json.ts'

/** A pointer to a field, not to the whole config. It has no empty step. */
export const POINTER_PATTERN = '^(/[^/]+)+$'
/** A step behind the end of an array, or one in which `~` does not begin `~0` or `~1`. */
const BAD_STEP = /^-$|~(?![01])/
const POINTER = new RegExp(POINTER_PATTERN)

/**
 * Returns whether `text` is a JSON pointer to a config field.
 *
 * @param text Any text.
 */
export const isFieldPointer = (text: string): boolean =>
  POINTER.test(text) && !text.split('/').some((step) => BAD_STEP.test(step))

/**
 * Splits a JSON pointer.
 *
 * @param pointer A pointer that begins with a slash.
 * @returns its steps without escapes: `/a~1b/0` → `["a/b", "0"]`.
 */
export const pointerSteps = (pointer: string): readonly string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))

/**
 * Returns `value` with the content of `has` at a place. Where `has` has none, the value stays as it is.
 *
 * @param value The value that receives it; undefined if there is none.
 * @param has The value that is kept.
 * @param options `step`, `rest`: the steps to the place, from `pointerSteps`.
 */
export function putBack(
  value: JsonValue | undefined,
  has: JsonValue | undefined,
  [step, ...rest]: readonly string[],
): JsonValue | undefined {
  if (step === undefined) return has ?? value
  if (Array.isArray(has)) return Array.isArray(value) ? inArray(value, has as readonly JsonValue[], step, rest) : value
  if (!isJsonObject(has) || !Object.hasOwn(has, step)) return value
  if (value !== undefined && !isJsonObject(value)) return value
  const next = putBack(value === undefined ? undefined : ownValue(value, step), has[step], rest)
  return next === undefined ? value : { ...value, [step]: next }
}

function inArray(
  value: readonly JsonValue[],
  has: readonly JsonValue[],
  step: string,
  rest: readonly string[],
): readonly JsonValue[] {
  const index = /^(?:0|[1-9]\d*)$/.test(step) ? Number(step) : -1
  const [old, theirs] = [value[index], has[index]]
  if (old === undefined || theirs === undefined) return value
  return value.with(index, putBack(old, theirs, rest) ?? old)
}

const ownValue = (object: JsonObject, name: string): JsonValue | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined
