#!/usr/bin/env node
// Fails when a source file grows beyond 400 lines or a test file beyond 700, or a line beyond 120 columns.
// Usage: node hack/verify-sizes.mjs [ROOT]    Exit: 0 clean, 1 violations, one per line.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

process.chdir(process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url)))

const LIMITS = { src: 400, hack: 400, test: 700 }
const CODE = /\.(?:tsx?|mjs|c|css|sh|lua)$/

const COLUMNS = 120
/** Tests are found by the text of their titles, which Prettier keeps in the line of the call. */
const TITLE = /^\s*(?:\]\)|(?:it|test|describe)\b[\w.]*(?:\([^()]*\))?)\(\s*['"`]/
/** A regular expression literal cannot be broken. */
const PATTERN = /^\s*\/(?![/*]).*\/[a-z]*,?$/

const isTooWide = (line) => line.length > COLUMNS && !TITLE.test(line) && !PATTERN.test(line)

function lineFaults(path, lines) {
  const wide = lines.flatMap((line, index) => (isTooWide(line) ? [{ number: index + 1, width: line.length }] : []))
  return wide.map(({ number, width }) => `${path}:${number}: ${width} columns, at most ${COLUMNS} are allowed`)
}

function faultsOf([folder, limit]) {
  if (!existsSync(folder)) return []
  const files = readdirSync(folder, { recursive: true }).filter(
    (name) => CODE.test(name) && !name.includes('node_modules'),
  )
  return files.toSorted().flatMap((file) => {
    const path = join(folder, file)
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
    const tooLong = lines.length <= limit ? [] : [`${path}: ${lines.length} lines, at most ${limit} are allowed here`]
    return [...tooLong, ...(path.endsWith('.sh') ? [] : lineFaults(path, lines))]
  })
}

const faults = Object.entries(LIMITS).flatMap(faultsOf)
for (const line of faults) console.error(line)
process.exitCode = faults.length === 0 ? 0 : 1
