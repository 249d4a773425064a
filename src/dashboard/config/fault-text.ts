/**
 * @module dashboard/config/fault-text
 * Words the errors that the master finds like those that the page finds: `expected 1 or more`. Errors of keywords that
 * are not listed here keep the words of the master.
 */
import type { FieldError } from '../../protocol/index.ts'
import { plural } from '../components/numbers.ts'
import { formatText } from './format-text.ts'

/** What is expected, by keyword of the schema. */
const EXPECTED: Readonly<Record<string, (params: Readonly<Record<string, unknown>>) => string>> = {
  format: ({ format }) => formatText(String(format)),
  pattern: ({ pattern }) => `text that matches ${String(pattern)}`,
  multipleOf: ({ multipleOf }) => `a multiple of ${String(multipleOf)}`,
  minimum: ({ limit }) => `${String(limit)} or more`,
  maximum: ({ limit }) => `${String(limit)} or less`,
  exclusiveMinimum: ({ limit }) => `more than ${String(limit)}`,
  exclusiveMaximum: ({ limit }) => `less than ${String(limit)}`,
  minLength: ({ limit }) => `${plural(Number(limit), 'character')} or more`,
  maxLength: ({ limit }) => `${plural(Number(limit), 'character')} or less`,
  minItems: ({ limit }) => `${plural(Number(limit), 'item')} or more`,
  maxItems: ({ limit }) => `${plural(Number(limit), 'item')} or less`,
}

/** The words of an error of the master begin so. */
const OF_MASTER = /^must /

export function inPageWords(fault: FieldError): FieldError {
  const { keyword, params, message } = fault
  if (!OF_MASTER.test(message)) return fault
  if (keyword === 'enum') return { ...fault, message: message.replace(/^must be one of/, 'expected one of') }
  const expected = Object.hasOwn(EXPECTED, keyword) ? EXPECTED[keyword] : undefined
  return expected === undefined ? fault : { ...fault, message: `expected ${expected(params)}` }
}

/** The page and the master find many errors both. The first one of a field is shown. */
export function onePerField(faults: readonly FieldError[]): readonly FieldError[] {
  const seen = new Set<string>()
  return faults.filter(({ path }) => {
    if (seen.has(path)) return false
    seen.add(path)
    return true
  })
}
