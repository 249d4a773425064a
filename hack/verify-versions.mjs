#!/usr/bin/env node
// Fails when a file has another version than package.json, or another public name than release.json: one tag releases
// everything. A public name stands in release.json alone; files that need one are generated.
// Usage: node hack/verify-versions.mjs [ROOT]    Exit: 0 equal, 1 not, with the file and both values.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { pythonVersion } from './release/versions.mjs'

process.chdir(process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url)))

const PYTHON = 'clients/python/pyproject.toml'
const LOCK = 'package-lock.json'
const CHART = 'charts/muster/Chart.yaml'
const SEARCHED = ['charts', 'clients', 'crds', 'hack', 'manifests', 'src']
const TEXT = /\.(?:md|mjs|tsx?|ya?ml|json|toml|py|tpl|sh)$/
const SKIPPED = /(?:^|\/)(?:node_modules|__pycache__)\//
const GENERATED = /<!-- generated: ([\w-]+) -->[\s\S]*?<!-- \/generated -->/g

const json = (path) => JSON.parse(readFileSync(path, 'utf8'))
const { version: wanted } = json('package.json')
const names = json('release.json')

const table = /^\[project\]$[^[]*/m.exec(readFileSync(PYTHON, 'utf8'))?.[0] ?? ''
const inTable = (key) => new RegExp(`^${key} = "([^"]*)"$`, 'm').exec(table)?.[1]
const lock = json(LOCK)
const chart = parse(readFileSync(CHART, 'utf8'))

/** File, what is compared, the value found, the value wanted, and the file that has the wanted one. */
const rows = [
  [PYTHON, 'version', inTable('version'), pythonVersion(wanted), 'package.json'],
  [LOCK, 'version', lock.version, wanted, 'package.json'],
  [LOCK, 'version of packages[""]', lock.packages?.['']?.version, wanted, 'package.json'],
  [CHART, 'version', chart.version, wanted, 'package.json'],
  [CHART, 'appVersion', chart.appVersion, wanted, 'package.json'],
  [PYTHON, 'name', inTable('name'), names.python, 'release.json'],
  [CHART, 'home', chart.home, names.repository, 'release.json'],
]
const faults = rows
  .filter(([, , found, value]) => found !== value)
  .map(
    ([file, what, found, value, source]) =>
      `${file}: ${what} ${found ?? 'missing'}, but ${source} has ${value}: change both together`,
  )

/** A registry name in a file that is neither generated nor release.json would stay when a publisher takes others. */
function repeatedNames(path) {
  const text = readFileSync(path, 'utf8').replaceAll(GENERATED, '')
  return [names.npm, names.client, names.image, names.chart]
    .filter((name) => text.includes(name))
    .map((name) => `${path}: contains ${name}; read it from release.json, or generate the text`)
}
const files = SEARCHED.filter((folder) => existsSync(folder)).flatMap((folder) =>
  readdirSync(folder, { recursive: true }).map((name) => join(folder, name)),
)
const searched = ['README.md', ...files].filter((path) => TEXT.test(path) && !SKIPPED.test(path) && existsSync(path))
faults.push(...searched.toSorted().flatMap(repeatedNames))

for (const fault of faults) console.error(fault)
process.exitCode = faults.length === 0 ? 0 : 1
