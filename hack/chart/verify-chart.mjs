#!/usr/bin/env node
// Fails when a generated file of charts/muster is not, byte for byte, what the code makes.
// Usage: node hack/chart/verify-chart.mjs    Exit: 0 equal, 1 differs, one file a line.
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { chartFiles } from './files.mjs'

process.chdir(fileURLToPath(new URL('../..', import.meta.url)))
for (const [path, text] of chartFiles()) {
  if (existsSync(path) && readFileSync(path, 'utf8') === text) continue
  console.error(`${path}: differs from the code; run node hack/chart/update-chart.mjs`)
  process.exitCode = 1
}
