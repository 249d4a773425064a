#!/usr/bin/env node
// Fails when a file below crds/ is not, byte for byte, what src/operator/fleetworker/schema.ts makes.
// Usage: node hack/verify-crds.mjs [ROOT]    Exit: 0 equal, 1 differs or no valid definition, one per line.
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { crdFiles } from './crds.mjs'

process.chdir(process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url)))
for (const [path, text] of crdFiles()) {
  if (existsSync(path) && readFileSync(path, 'utf8') === text) continue
  console.error(`${path}: differs from the code; run node hack/update-crds.mjs`)
  process.exitCode = 1
}
