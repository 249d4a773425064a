/** @module dashboard/components/moment-value  Reads and writes the value of a field for a date and a time. */

const VALUE = /^\d{4,6}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?$/

/**
 * @param value `2026-11-30T02:15`
 * @param isUtc Whether it is in UTC; otherwise it is in the time zone of the browser.
 * @returns unix seconds; null for an empty or incomplete value.
 */
export function secondsOfInput(value: string, isUtc: boolean): number | null {
  const ms = VALUE.test(value) ? Date.parse(isUtc ? `${value}Z` : value) : Number.NaN
  return Number.isNaN(ms) ? null : ms / 1_000
}

/** @returns the value of the field for a time in unix seconds, cut to minutes. */
export function inputOfSeconds(seconds: number, isUtc: boolean): string {
  const offsetMs = isUtc ? 0 : new Date(seconds * 1_000).getTimezoneOffset() * 60_000
  return new Date(seconds * 1_000 - offsetMs).toISOString().slice(0, 16)
}
