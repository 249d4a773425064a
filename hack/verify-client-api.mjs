#!/usr/bin/env node
// Fails when the interface of the published client differs from test/client/public-api.d.ts. A change of that file is a
// change for every program that uses muster/client, so it is reviewed as one.
// Usage: node hack/verify-client-api.mjs    Exit: 0 equal, 1 differs or the compiler failed.
import { fileURLToPath } from 'node:url'
import { clientApi } from './client-api.mjs'
import { compare } from './generated.mjs'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
compare(await clientApi(), 'hack/update-client-api.mjs')
