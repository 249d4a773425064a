#!/usr/bin/env node
// Fails when a source file grows beyond 400 lines or a test file beyond 700.
// Usage: node hack/verify-sizes.mjs [ROOT]    Exit: 0 clean, 1 violations, one per line.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

process.chdir(process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url)))

const LIMITS = { src: 400, hack: 400, test: 700 }
const CODE = /\.(?:tsx?|mjs|css|sh|lua)$/

const linesOf = (path) => readFileSync(path, 'utf8').trimEnd().split('\n').length

function faultsOf([folder, limit]) {
  if (!existsSync(folder)) return []
  const files = readdirSync(folder, { recursive: true }).filter(
    (name) => CODE.test(name) && !name.includes('node_modules'),
  )
  return files.toSorted().flatMap((file) => {
    const path = join(folder, file)
    const lines = linesOf(path)
    return lines <= limit ? [] : [`${path}: ${lines} lines, at most ${limit} are allowed here`]
  })
}

const faults = Object.entries(LIMITS).flatMap(faultsOf)
for (const line of faults) console.error(line)
process.exitCode = faults.length === 0 ? 0 : 1
