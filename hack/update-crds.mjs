#!/usr/bin/env node
// Writes the definitions below crds/ from the schemas of the kinds below src/operator.
// Usage: node hack/update-crds.mjs    Needs Node >= 22.18, which reads the TypeScript of src/ itself.
// Exit: 0 written or up to date, 1 the schema is not valid in Kubernetes.
import { fileURLToPath } from 'node:url'
import { crdFiles } from './crds.mjs'
import { write } from './generated.mjs'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
write(crdFiles())
