#!/usr/bin/env node
// Fails when a file below crds/ differs from the one that is generated from the schemas below src/operator.
// Usage: node hack/verify-crds.mjs [ROOT]    Exit: 0 equal, 1 differs or no valid definition, one per line.
import { fileURLToPath } from 'node:url'
import { crdFiles } from './crds.mjs'
import { compare } from './generated.mjs'

process.chdir(process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url)))
compare(crdFiles(), 'hack/update-crds.mjs')
