/** @module cmd/doctor/report  Formats the results of the checks, as lines for a person or as JSON. */
import { plain } from '../admin/index.ts'
import type { Result } from './check.ts'
import { CHECKS } from './checks.ts'

const NAME_WIDTH = Math.max(...CHECKS.map(({ name }) => name.length))
const INDENT = ' '.repeat('skip  '.length)

/** One line; below a warning or failure its cause and the next step. */
export function lineOf({ name, finding }: Result): string {
  const line = `${finding.status.padEnd(4)}  ${name.padEnd(NAME_WIDTH)}  ${plain(finding.text)}\n`
  if (finding.status === 'ok' || finding.status === 'skip') return line
  return `${line}${INDENT}cause: ${plain(finding.cause)}\n${INDENT}next:  ${plain(finding.next)}\n`
}

export const hasFailed = (results: readonly Result[]): boolean =>
  results.some(({ finding }) => finding.status === 'fail')

export function jsonOf(results: readonly Result[]): string {
  const checks = results.map(({ name, finding }) => {
    const { status, text, cause, next } = { cause: null, next: null, ...finding }
    return { check: name, status, text, cause, next }
  })
  return `${JSON.stringify({ ok: !hasFailed(results), checks }, null, 2)}\n`
}
