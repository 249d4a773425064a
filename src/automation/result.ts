/** @module automation/result  Checks what a run returned against the schema of the result (D110). */
import type { CatalogEntry } from './catalog.ts'

/** Maximum number of faults that the error of an invalid result lists. */
const FAULTS_NAMED = 5

/**
 * Returns the result of a run.
 * @param value What the run returned.
 * @returns `undefined` if the automation declares no result.
 * @throws {TypeError} naming the fields that do not match the schema.
 */
export function checkedResult(entry: CatalogEntry, value: unknown): unknown {
  const { validateResult = null } = entry
  if (validateResult === null) return undefined
  if (value === undefined) throw new TypeError(`the run returned nothing, but ${entry.type} declares a result`)
  const faults = validateResult(value)
  if (faults.length === 0) return value
  const named = faults.slice(0, FAULTS_NAMED).map(({ path, message }) => `${path || 'the result'} ${message}`)
  throw new TypeError(`the result does not match the schema of ${entry.type}: ${named.join('; ')}`)
}
