/** @module runtime/csv  Formats one line of CSV (RFC 4180). */

/**
 * Formats one line, without its end.
 *
 * @param values Null is an empty field. A text that a spreadsheet would take for a formula begins with an apostrophe:
 *   `=1+1` becomes `'=1+1`.
 */
export const csvLine = (values: readonly (string | number | null)[]): string => values.map(field).join(',')

function field(value: string | number | null): string {
  if (typeof value !== 'string') return value === null ? '' : String(value)
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
