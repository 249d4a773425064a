#!/usr/bin/env node
// Fails when a generated file of manifests/ is not, byte for byte, what the chart renders.
// Usage: node hack/chart/verify-manifests.mjs
// Exit: 0 equal, or Helm is not here, which is said: `make test-chart` then has to; 1 differs, one file a line.
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { manifestFiles, programPath } from './manifests.mjs'

process.chdir(fileURLToPath(new URL('../..', import.meta.url)))

function hasHelm() {
  try {
    return programPath('helm') !== ''
  } catch {
    return false
  }
}

if (!hasHelm()) console.log('manifests/: not verified, Helm is not here (make tools)')
else {
  for (const [path, text] of manifestFiles()) {
    if (existsSync(path) && readFileSync(path, 'utf8') === text) continue
    console.error(`${path}: differs from the chart; run node hack/chart/update-manifests.mjs`)
    process.exitCode = 1
  }
}
