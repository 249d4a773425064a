#!/usr/bin/env node
// Fails when a generated file of manifests/ differs from the rendered chart.
// Usage: node hack/chart/verify-manifests.mjs
// Exit: 0 equal, or Helm is missing (prints a note; `make test-chart` checks it then); 1 differs, one file per line.
import { fileURLToPath } from 'node:url'
import { compare } from '../generated.mjs'
import { manifestFiles, programPath } from './manifests.mjs'

process.chdir(fileURLToPath(new URL('../..', import.meta.url)))

function hasHelm() {
  try {
    return programPath('helm') !== ''
  } catch {
    return false
  }
}

if (hasHelm()) compare(manifestFiles(), 'hack/chart/update-manifests.mjs')
else console.log('manifests/: not verified, because Helm is missing (make tools)')
