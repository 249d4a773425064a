#!/usr/bin/env node
// Writes the generated files of charts/muster.
// Usage: node hack/chart/update-chart.mjs    Exit: 0 written or up to date.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chartFiles } from './files.mjs'

process.chdir(fileURLToPath(new URL('../..', import.meta.url)))
for (const [path, text] of chartFiles()) {
  if (existsSync(path) && readFileSync(path, 'utf8') === text) continue
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(`${path}.tmp`, text)
  renameSync(`${path}.tmp`, path)
  console.log(`${path}: written`)
}
