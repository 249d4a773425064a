#!/usr/bin/env node
// Writes crds/fleetworkers.muster.dev.yaml from src/operator/fleetworker/schema.ts.
// Usage: node hack/update-crds.mjs    Needs Node >= 22.18, which reads the TypeScript of src/ itself.
// Exit: 0 written or up to date, 1 the schema is none that Kubernetes takes.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { crdFiles } from './crds.mjs'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
for (const [path, text] of crdFiles()) {
  if (existsSync(path) && readFileSync(path, 'utf8') === text) continue
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(`${path}.tmp`, text)
  renameSync(`${path}.tmp`, path)
  console.log(`${path}: written`)
}
