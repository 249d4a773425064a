#!/usr/bin/env node
// Fails when core logic reads the clock by `new Date()` or `Date()` instead of the port it is given.
// Usage: node hack/verify-ports.mjs [ROOT]    Exit: 0 clean, 1 violations, one per line.
//
// oxlint checks the other forms (Date.now, setTimeout, Math.random, …; .oxlintrc.json). It cannot distinguish
// `new Date()` from `new Date(ms)`, which is allowed everywhere.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

process.chdir(process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url)))

const FREE = /^(?:runtime|dashboard|cmd)\// // The areas that hold the real clock, or a person's.
const CLOCK_READ = /\bnew\s+Date\b(?:\s*\(\s*\)|(?!\s*[\w.(]))|(?<!new\s+)(?<![\w.])Date\s*\(\s*\)/
const COMMENT_LINE = /^\s*(?:\/\/|\/?\*)/

function faultsOf(file) {
  return readFileSync(join('src', file), 'utf8')
    .split('\n')
    .flatMap((line, index) => {
      if (COMMENT_LINE.test(line) || !CLOCK_READ.test(line)) return []
      return [`src/${file}:${index + 1}: reads the clock; take a Clock as an argument`]
    })
}

const files = readdirSync('src', { recursive: true }).filter((name) => /\.tsx?$/.test(name) && !FREE.test(name))
const faults = files.toSorted().flatMap(faultsOf)
for (const line of faults) console.error(line)
process.exitCode = faults.length === 0 ? 0 : 1
