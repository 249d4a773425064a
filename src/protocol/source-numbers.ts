/**
 * @module protocol/source-numbers
 * Keeps numbers that a double cannot hold, such as the 64-bit id 9007199254740993, as the text in which they arrived.
 *
 *   text ── JSON.parse ──▶ value    what schemas check and code computes with: 9007199254740992
 *     └── withSourceNumbers ──▶ the same value, with such a number as raw JSON text: JSON.stringify writes …993 again
 *
 * Nearly no document has such a number; one without it costs one search of its text.
 * @see https://tc39.es/proposal-json-parse-with-source/
 */
import type { FieldError } from './errors.ts'
import { pointerStep, type JsonText } from './json.ts'
import { MAX_FIELD_ERRORS } from './limits.ts'

/** A number as its source text, which `JSON.stringify` writes unchanged. */
export interface RawNumber {
  readonly rawJSON: string
}
type Reviver = (this: unknown, key: string, value: unknown, context: { readonly source?: string }) => unknown
/** Part of the language since Node 22; the type library of the compiler does not have it yet. */
const { parse, rawJSON, isRawJSON } = JSON as unknown as {
  readonly parse: (text: string, reviver: Reviver) => unknown
  readonly rawJSON: (text: string) => RawNumber
  readonly isRawJSON: (value: unknown) => value is RawNumber
}

/**
 * The start of a number that may change: 16 digits or more, or an exponent of three digits. Text inside strings may
 * match as well.
 */
const CANDIDATE = /[:[,\s]-?\d(?:[\d.]{15}|[\d.]*[eE][+-]?\d{3})/g
const NUMBER = /-?[\d.]+(?:[eE][+-]?\d+)?/y
const INTEGER = /^-?\d+$/
const PARTS = /^-?(?<whole>\d+)(?:\.(?<fraction>\d+))?(?:[eE](?<exponent>[+-]?\d+))?$/

/** Returns whether `value` is a number that is kept as its source text. */
export const isRawNumber = (value: unknown): value is RawNumber => isRawJSON(value)

/**
 * Returns a parsed document in which each number that a double changes is its source text.
 *
 * @param text The document.
 * @param value The result of `JSON.parse(text)`; returned as it is if no number changes.
 */
export function withSourceNumbers(text: JsonText, value: unknown): unknown {
  if (typeof value === 'number') return isChanged(text.trim()) ? rawJSON(text.trim()) : value
  CANDIDATE.lastIndex = 0
  for (let found = CANDIDATE.exec(text); found !== null; found = CANDIDATE.exec(text)) {
    NUMBER.lastIndex = found.index + 1
    if (isChanged(NUMBER.exec(text)?.[0] ?? '')) return parse(text, keepSource)
  }
  return value
}

const keepSource: Reviver = (_key, value, { source }) =>
  typeof value === 'number' && source !== undefined && isChanged(source) ? rawJSON(source) : value

/** Whether a double written as JSON is another number than `text`, or none at all (1e400). */
function isChanged(text: string): boolean {
  if (text.length < 16 && !text.includes('e') && !text.includes('E')) return false
  const written = String(Number(text))
  if (written === text) return false
  return (INTEGER.test(text) && INTEGER.test(written)) || decimalOf(written) !== decimalOf(text)
}

/** One spelling for each value: `1.50e2` and `150` become `15e1`. */
function decimalOf(text: string): string {
  const { whole = '', fraction = '', exponent = '0' } = PARTS.exec(text)?.groups ?? {}
  const digits = whole + fraction
  let start = 0
  let end = digits.length
  while (digits[start] === '0') start += 1
  while (end > start && digits[end - 1] === '0') end -= 1 // A pattern for zeros at the end would take quadratic time.
  return start === end ? '0' : `${digits.slice(start, end)}e${Number(exponent) - fraction.length + digits.length - end}`
}

/**
 * Finds numbers of 2^53 and more that a double changes. A lost digit of a fraction is the rounding that every double
 * has; a lost digit of an integer is another id.
 *
 * @param value From {@link withSourceNumbers}.
 * @param isKept Returns whether the number at this pointer is stored as its source text, and so does not change; false
 *   for each if omitted.
 * @returns one fault per number, at most 100; empty if no number changes.
 */
export function changedIntegers(value: unknown, isKept: (pointer: string) => boolean = () => false): FieldError[] {
  const faults: FieldError[] = []
  for (const [pointer, source] of sourceNumbers(value)) {
    const nearest = Number(source)
    if (Math.abs(nearest) < 2 ** 53 || isKept(pointer) || faults.length === MAX_FIELD_ERRORS) continue
    faults.push({
      path: pointer,
      message: `cannot be kept exactly: the nearest number is ${nearest}; send it as a string`,
      keyword: 'exact',
      params: { nearest },
    })
  }
  return faults
}

/** Returns the pointer to a number that is too large for a double; undefined if there is none. */
export function infiniteNumber(value: unknown): string | undefined {
  for (const [pointer, source] of sourceNumbers(value)) if (!Number.isFinite(Number(source))) return pointer
  return undefined
}

/** Yields every number that is kept as source text. Without recursion, because the sender chooses the depth. */
function* sourceNumbers(value: unknown): Generator<readonly [pointer: string, source: string]> {
  const open: [pointer: string, value: unknown][] = [['', value]]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [pointer, found] = next
    if (isRawJSON(found)) yield [pointer, found.rawJSON]
    else if (typeof found === 'object' && found !== null) {
      for (const [key, each] of Object.entries(found).toReversed())
        if (typeof each === 'object' && each !== null) open.push([pointer + pointerStep(key), each])
    }
  }
}
