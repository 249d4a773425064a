#!/usr/bin/env node
// Fails when a source file grows beyond 400 lines or a test file beyond 700, or a line beyond 120 characters.
// Usage: node hack/verify-sizes.mjs [ROOT]    Exit: 0 clean, 1 violations, one per line.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

process.chdir(process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url)))

const LIMITS = { src: 400, hack: 400, clients: 400, test: 700 }
/** Code, and data that is written by hand. Prose and JSON may have longer lines. */
const CHECKED = /\.(?:tsx?|mjs|c|go|py|css|html|sh|lua|toml|yaml)$/
/** Packages, and generated files. */
const SKIPPED = /(?:^|\/)(?:node_modules|golden)\//

const MAX_CHARS = 120

function lineFaults(path, lines) {
  return lines.flatMap((line, index) => {
    const chars = [...line].length
    return chars > MAX_CHARS ? [`${path}:${index + 1}: ${chars} characters, at most ${MAX_CHARS} are allowed`] : []
  })
}

function faultsOf([folder, limit]) {
  if (!existsSync(folder)) return []
  const files = readdirSync(folder, { recursive: true }).filter((name) => CHECKED.test(name) && !SKIPPED.test(name))
  return files.toSorted().flatMap((file) => {
    const path = join(folder, file)
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
    const tooLong = lines.length <= limit ? [] : [`${path}: ${lines.length} lines, at most ${limit} are allowed here`]
    return [...tooLong, ...lineFaults(path, lines)]
  })
}

const faults = Object.entries(LIMITS).flatMap(faultsOf)
for (const line of faults) console.error(line)
process.exitCode = faults.length === 0 ? 0 : 1
