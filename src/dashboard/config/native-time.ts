/**
 * @module dashboard/config/native-time
 * Converts texts of the formats `date-time`, `date` and `time` (RFC 3339) to values of the browser's inputs and back.
 * The inputs have no offset, so it is kept beside them and never converted: `2026-01-31T09:00:00+01:00` is
 * `2026-01-31T09:00:00` and `+01:00`.
 */

export const INPUT_TYPES = { 'date-time': 'datetime-local', date: 'date', time: 'time' } as const
export type TimeFormat = keyof typeof INPUT_TYPES

export interface NativeTime {
  /** The value of the input; '' for none. */
  readonly value: string
  /** `Z` or `+01:00`; '' for a date. */
  readonly offset: string
}

const DATE = String.raw`\d{4}-\d\d-\d\d`
const TIME = String.raw`\d\d:\d\d:\d\d(?:\.\d{1,3})?`
const OFFSET = String.raw`(Z|[+-]\d\d:\d\d)`
const TEXTS: Readonly<Record<TimeFormat, RegExp>> = {
  'date-time': new RegExp(`^(${DATE}T${TIME})${OFFSET}$`),
  date: new RegExp(`^(${DATE})()$`),
  time: new RegExp(`^(${TIME})${OFFSET}$`),
}

/** @returns undefined if texts of the format have no input of their own. */
export const timeFormatOf = (format: unknown): TimeFormat | undefined =>
  typeof format === 'string' && Object.hasOwn(INPUT_TYPES, format) ? (format as TimeFormat) : undefined

/** @returns null if the input cannot show the text, for example `2026-02-30`, a leap second or microseconds. */
export function nativeTime(format: TimeFormat, text: string): NativeTime | null {
  if (text === '') return { value: '', offset: format === 'date' ? '' : 'Z' }
  const [, value = '', offset = ''] = TEXTS[format].exec(text) ?? []
  const whole = format === 'time' ? `2000-01-01T${value}` : value
  const ms = Date.parse(format === 'date' ? value : `${whole}Z`)
  const isReal = !Number.isNaN(ms) && whole >= '0001' && new Date(ms).toISOString().startsWith(whole)
  return value !== '' && isReal ? { value, offset } : null
}

/** @param value The value of an input, which leaves out seconds that are 0. @returns '' for ''. */
export function textOfNative(format: TimeFormat, value: string, offset: string): string {
  if (value === '' || format === 'date') return value
  return `${value}${/(?:^|T)\d\d:\d\d$/.test(value) ? ':00' : ''}${offset}`
}
