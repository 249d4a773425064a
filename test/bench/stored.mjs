/**
 * Keeps the results next to this file. A run of all rows takes hours, so the result is combined: each row as it was
 * measured last, with date and commit. The figures of a row are from one run, and its ratios from within a round.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pageOf } from './report.mjs'

const [RESULTS, PAGE, NOTES] = ['results.json', 'RESULTS.md', 'NOTES.md'].map((name) => join(import.meta.dirname, name))

const textOf = (file) => (existsSync(file) ? readFileSync(file, 'utf8') : '')

/**
 * Replaces the rows of this run in both files, and removes rows that do not exist any more.
 * @param options.known The ids of all rows, in the order of the page.
 */
export function store({ machine, measured, summaries, known }) {
  const { rows: before = {} } = JSON.parse(textOf(RESULTS) || '{}')
  const now = Object.fromEntries(summaries.map((summary) => [summary.row.id, { ...summary, measured }]))
  const merged = { ...before, ...now }
  const rows = Object.fromEntries(known.flatMap((id) => (merged[id] === undefined ? [] : [[id, merged[id]]])))
  writeFileSync(RESULTS, `${JSON.stringify({ machine, rows }, null, 1)}\n`)
  writeFileSync(PAGE, pageOf({ machine, summaries: Object.values(rows), notes: textOf(NOTES) }))
}
