#!/usr/bin/env node
// Writes the generated part of manifests/. Needs Helm (make tools).
// Usage: node hack/chart/update-manifests.mjs    Exit: 0 written or up to date, 1 Helm is missing or rejects the
// chart.
import { fileURLToPath } from 'node:url'
import { manifestFiles } from './manifests.mjs'
import { write } from '../generated.mjs'

process.chdir(fileURLToPath(new URL('../..', import.meta.url)))
write(manifestFiles())
