#!/usr/bin/env node
// Fails when a generated file of manifests/ is not, byte for byte, what the chart renders.
// Usage: node hack/chart/verify-manifests.mjs
// Exit: 0 equal, or Helm is not here, which is said: `make test-chart` then has to; 1 differs, one file a line.
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
else console.log('manifests/: not verified, Helm is not here (make tools)')
