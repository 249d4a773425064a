#!/usr/bin/env node
// Fails when a generated file of charts/muster differs from the output of the generator.
// Usage: node hack/chart/verify-chart.mjs    Exit: 0 equal, 1 differs, one file per line.
import { fileURLToPath } from 'node:url'
import { chartFiles } from './files.mjs'
import { compare } from '../generated.mjs'

process.chdir(fileURLToPath(new URL('../..', import.meta.url)))
compare(chartFiles(), 'hack/chart/update-chart.mjs')
