#!/usr/bin/env node
// Writes the generated part of manifests/. Needs Helm (make tools).
// Usage: node hack/chart/update-manifests.mjs    Exit: 0 written or up to date, 1 Helm is not here or refuses the chart.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { manifestFiles } from './manifests.mjs'

process.chdir(fileURLToPath(new URL('../..', import.meta.url)))
for (const [path, text] of manifestFiles()) {
  if (existsSync(path) && readFileSync(path, 'utf8') === text) continue
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(`${path}.tmp`, text)
  renameSync(`${path}.tmp`, path)
  console.log(`${path}: written`)
}
