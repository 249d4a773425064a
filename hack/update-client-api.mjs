#!/usr/bin/env node
// Writes test/client/public-api.d.ts from src/client/public.ts.
// Usage: node hack/update-client-api.mjs    Exit: 0 written or up to date, 1 the compiler failed.
import { fileURLToPath } from 'node:url'
import { clientApi } from './client-api.mjs'
import { write } from './generated.mjs'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
write(await clientApi())
