#!/usr/bin/env node
// Sets the version of everything that one tag releases: npm package, lock file, Python package, chart, manifests.
// Usage: node hack/release/set-version.mjs VERSION [ROOT]    (make version VERSION=0.2.0)    Needs Helm (make tools).
// Exit: 0 written, 1 no version, or Helm is missing.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { pythonVersion, VERSION } from './versions.mjs'

const GENERATORS = ['hack/chart/update-chart.mjs', 'hack/chart/update-manifests.mjs']

/** Writes the version into the files that are written by hand; the current folder is the tree. */
function setVersion(version) {
  const edit = (path, change) => writeFileSync(path, change(readFileSync(path, 'utf8')))
  const asJson = (change) => (text) => `${JSON.stringify(change(JSON.parse(text)), null, 2)}\n`
  edit(
    'package.json',
    asJson((manifest) => ({ ...manifest, version })),
  )
  edit(
    'package-lock.json',
    asJson((lock) => ({ ...lock, version, packages: { ...lock.packages, '': { ...lock.packages[''], version } } })),
  )
  edit('clients/python/pyproject.toml', (text) =>
    text.replace(/^(\[project\]$[^[]*?^version = )"[^"]*"$/m, `$1"${pythonVersion(version)}"`),
  )
}

const [version = '', root = fileURLToPath(new URL('../..', import.meta.url))] = process.argv.slice(2)
process.chdir(root)
if (VERSION.test(version)) {
  setVersion(version)
  for (const program of GENERATORS) {
    const { status } = spawnSync(process.execPath, [program], { stdio: 'inherit' })
    if (status !== 0) process.exitCode = 1
  }
  if (process.exitCode === undefined)
    console.log(`The version is ${version}. Next: UPDATE_GOLDEN=1 make test-chart ONLY=golden; then commit.`)
} else {
  console.error(`"${version}" is no version like 0.2.0 or 0.2.0-rc.1: make version VERSION=0.2.0`)
  process.exitCode = 1
}
