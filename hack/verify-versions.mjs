#!/usr/bin/env node
// Fails when a client in another language has another version than the npm package: one tag releases all of them.
// Usage: node hack/verify-versions.mjs [ROOT]    Exit: 0 equal, 1 not, with the file and both versions.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

process.chdir(process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url)))

const MANIFEST = 'clients/python/pyproject.toml'

const { version: wanted } = JSON.parse(readFileSync('package.json', 'utf8'))
const [, found] = /^\[project\]$[^[]*?^version = "([^"]*)"$/m.exec(readFileSync(MANIFEST, 'utf8')) ?? []
if (found !== wanted) {
  console.error(`${MANIFEST}: version ${found ?? 'missing'}, but package.json has ${wanted}: change both together`)
  process.exitCode = 1
}
